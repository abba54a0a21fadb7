// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "engine/session/chat_session.h"
#include "engine/session/model_evaluation.h"
#include "engine/session/model_exchange.h"
#include "engine/session/prepared_examples.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace fs = std::filesystem;

class TestFineTuning : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void a_run_begins_with_the_weights_of_another();
  void stopped_and_resumed_equals_uninterrupted();
  void answers_are_learnt_and_given();
  void what_was_learnt_is_exported_and_imported();
  void records_left_out_are_told();
  void pretraining_goes_on_from_another_run();
  void bad_fine_tuning_leaves_no_run_behind_data();
  void bad_fine_tuning_leaves_no_run_behind();

 private:
  fs::path write(const std::string& name, const std::string& text) const;
  RunSpec tuning(double epochs) const;
  SessionEnd start(const RunSpec& spec, Listener& listener) const;
  std::string weights_of(std::int64_t run, std::int64_t step) const;

  QTemporaryDir folder_;
  fs::path home_;
  std::int64_t base_ = 0;
};

namespace {
/// Which animal makes which sound: questions that are equal but for one word.
constexpr std::pair<const char*, const char*> kSounds[] = {{"cow", "moo"},  {"cat", "meow"},
                                                           {"dog", "woof"}, {"hen", "cluck"},
                                                           {"owl", "hoot"}, {"pig", "oink"}};

std::string records() {
  std::string all;
  for (const auto& [animal, sound] : kSounds)
    for (const char* how : {"says", "sings", "cries"})
      all += fmt::format(R"({{"prompt":"the {} {}","completion":"{}"}})"
                         "\n",
                         animal, how, sound);
  return all;
}
}  // namespace

fs::path TestFineTuning::write(const std::string& name, const std::string& text) const {
  const fs::path path = fs::path(folder_.path().toStdString()) / name;
  write_file_atomically(path, text);
  return path;
}

void TestFineTuning::initTestCase() {
  home_ = folder_.filePath("home").toStdString();
  Listener listener;
  RunSpec spec{.name = "Base",
               .sources = {{.path = write("text.txt", tiny_text(40'000)).string()}},
               .model = tiny_model(),
               .train = tiny_train(20)};
  const SessionEnd end = start(spec, listener);
  QVERIFY(end.record.status == RunStatus::finished);
  base_ = end.record.id;
}

RunSpec TestFineTuning::tuning(double epochs) const {
  const BaseModel base = open_base_model(home_, base_, {});
  RunSpec spec = fine_tuning_of(base, base_);
  spec.fine_tuning.records = write("records.jsonl", records()).string();
  spec.fine_tuning.chat_template = ChatFormat::plain;
  spec.fine_tuning.held_out_fraction = 0.2;
  spec.fine_tuning.epochs = epochs;
  return spec;
}

SessionEnd TestFineTuning::start(const RunSpec& spec, Listener& listener) const {
  TrainControl control;
  return TrainingSession(home_).start(spec, control, listener);
}

std::string TestFineTuning::weights_of(std::int64_t run, std::int64_t step) const {
  return read_small_file(run_folder_in(home_, run) /
                         fmt::format("checkpoints/step-{:08}/weights.safetensors", step));
}

void TestFineTuning::a_run_begins_with_the_weights_of_another() {
  RunSpec spec = tuning(3);
  QCOMPARE(spec.train.learning_rate, tiny_train(1).learning_rate / 10);
  QCOMPARE(spec.start.step, 20);
  // So small a step that nothing but rounding could move a weight.
  spec.train.learning_rate = 1e-12;
  spec.train.weight_decay = 0;
  Listener listener;
  const SessionEnd end = start(spec, listener);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
  const SafetensorsFile before = SafetensorsFile::open(
      run_folder_in(home_, base_) / "checkpoints/step-00000020/weights.safetensors");
  const std::int64_t last = listener.started.spec.train.steps;
  const SafetensorsFile after =
      SafetensorsFile::open(run_folder_in(home_, end.record.id) /
                            fmt::format("checkpoints/step-{:08}/weights.safetensors", last));
  for (const NamedTensor& entry : before.tensors()) {
    const Tensor now = after.find(entry.name, entry.tensor.dtype, entry.tensor.shape);
    const auto was = entry.tensor.span<float>();
    for (std::size_t i = 0; i < was.size(); ++i)
      QVERIFY(std::abs(now.span<float>()[i] - was[i]) <= 1e-6F * (1 + std::abs(was[i])));
  }
  QCOMPARE(listener.started.allocated_bytes, listener.started.plan.memory.peak_bytes);
  // All answers of all training examples in each epoch.
  const auto data = ExampleShard::open(run_folder_in(home_, end.record.id) / "data", "train");
  const RunSpec kept = read_run_spec(run_folder_in(home_, end.record.id));
  QCOMPARE(kept.fine_tuning.epochs, 3.0);
  QCOMPARE(kept.start.run, base_);
  QVERIFY(end.record.tokens >= 3 * data.trained());
}

void TestFineTuning::stopped_and_resumed_equals_uninterrupted() {
  RunSpec spec = tuning(12);
  spec.train.micro_batch = 2;
  Listener whole;
  const SessionEnd straight = start(spec, whole);
  const std::int64_t steps = whole.started.spec.train.steps;
  QVERIFY(steps > 6);
  TrainControl control;
  Listener first;
  first.at_step = [&](std::int64_t step) {
    if (step == 5) control.stop();
  };
  const SessionEnd stopped = TrainingSession(home_).start(spec, control, first);
  QVERIFY(stopped.record.status == RunStatus::stopped);
  // Neither the base nor the cache is needed any more.
  fs::remove_all(home_ / "data");
  TrainControl again;
  Listener second;
  const SessionEnd resumed = TrainingSession(home_).resume(stopped.record.id, {}, again, second);
  QVERIFY2(resumed.record.status == RunStatus::finished, resumed.record.problem.c_str());
  QVERIFY(weights_of(resumed.record.id, steps) == weights_of(straight.record.id, steps));
}

void TestFineTuning::answers_are_learnt_and_given() {
  RunSpec spec = tuning(60);
  spec.train.learning_rate = 1e-2;
  spec.train.schedule = Schedule::one_cycle;
  Listener listener;
  const SessionEnd end = start(spec, listener);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
  ChatSession session(run_folder_in(home_, end.record.id), {});
  QVERIFY(session.chat_template() != nullptr);
  QVERIFY(session.chat_template()->style().format == ChatFormat::plain);
  std::int64_t asked = 0;
  const auto judge = [&](const JudgedItem&) { ++asked; };
  const ModelMeasurement made =
      measure_answers(session, spec.fine_tuning.records, {}, CancelToken(), {}, judge);
  QCOMPARE(made.items, 18);
  QCOMPARE(asked, 18);
  QVERIFY2(made.value >= 0.75, std::to_string(made.value).c_str());
  const ModelMeasurement held_out = measure_answers(
      session, spec.fine_tuning.records, {.held_out_fraction = 0.2}, CancelToken(), {}, judge);
  const auto shard = ExampleShard::open(run_folder_in(home_, end.record.id) / "data", "validation");
  QCOMPARE(held_out.items, shard.examples());

  // What does not fit is dropped turn by turn; a base continues text.
  const SamplingOptions greedy{.temperature = 0, .max_tokens = 8};
  const auto ignore = [](const std::string&) {};
  const Dialogue talk{{{.role = Role::user, .text = "the cow says"}}};
  Dialogue longer;
  for (int i = 0; i < 20; ++i) {
    longer.messages.push_back({.role = Role::user, .text = "the cow says"});
    longer.messages.push_back({.role = Role::assistant, .text = "moo"});
  }
  longer.messages.push_back(talk.messages.front());
  const Generation cut = session.answer(longer, greedy, CancelToken(), ignore);
  QVERIFY(cut.dropped_prompt_tokens > 0 && cut.prompt_tokens < spec.model.context);
  const Dialogue huge{{{.role = Role::user, .text = tiny_text(4000)}}};
  ATHANOR_EXPECT_ERROR(session.answer(huge, greedy, CancelToken(), ignore),
                       ErrorKind::invalid_argument, "Write less");
  ChatSession base(run_folder_in(home_, base_), {});
  QVERIFY(base.chat_template() == nullptr);
  ATHANOR_EXPECT_ERROR(base.answer(talk, greedy, CancelToken(), ignore),
                       ErrorKind::invalid_argument, "no chat template");
}

void TestFineTuning::what_was_learnt_is_exported_and_imported() {
  RunSpec spec = tuning(2);
  spec.fine_tuning.chat_template = ChatFormat::alpaca;
  spec.fine_tuning.system = "Say what it says.";
  spec.model.context = 128;
  Listener listener;
  const SessionEnd end = start(spec, listener);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
  const fs::path run = run_folder_in(home_, end.record.id);
  ChatSession session(run, {});
  const SamplingOptions greedy{.temperature = 0, .max_tokens = 8};
  const auto ignore = [](const std::string&) {};
  const Dialogue talk{{{.role = Role::user, .text = "the cow says"}}};
  const std::string said = session.answer(talk, greedy, CancelToken(), ignore).text;
  for (const FileKind kind : {FileKind::hugging_face, FileKind::gguf}) {
    const fs::path out =
        fs::path(folder_.path().toStdString()) / (kind == FileKind::gguf ? "gguf" : "hf");
    export_run(run, {.step = {}, .kind = kind, .type = {}, .folder = out}, CancelToken(), {});
    const ImportedModel made = import_model(home_, out, {}, CancelToken(), {});
    ChatSession imported(run_folder_in(home_, made.record.id), {});
    QVERIFY2(imported.chat_template() != nullptr, imported.notice().c_str());
    QVERIFY(imported.chat_template()->style().format == ChatFormat::alpaca);
    QCOMPARE(imported.chat_template()->style().system, spec.fine_tuning.system);
    QCOMPARE(imported.chat_template()->encode(talk, true).ids,
             session.chat_template()->encode(talk, true).ids);
    QCOMPARE(imported.answer(talk, greedy, CancelToken(), ignore).text, said);
  }
}

void TestFineTuning::records_left_out_are_told() {
  RunSpec spec = tuning(1);
  spec.fine_tuning.records =
      write("some-long.jsonl", records() + R"({"prompt":")" + std::string(500, 'x') +
                                   R"(","completion":"x"})"
                                   "\n")
          .string();
  Listener listener;
  start(spec, listener);
  QCOMPARE(listener.notices.size(), std::size_t{1});
  QVERIFY(listener.notices.front().text.find("Of 19 records 1 were left out and 0 shortened") !=
          std::string::npos);
}

void TestFineTuning::pretraining_goes_on_from_another_run() {
  RunSpec spec{.name = "More",
               .sources = {{.path = write("text.txt", tiny_text(40'000)).string()}},
               .start = {.run = base_, .step = 20},
               .model = tiny_model(),
               .train = tiny_train(10)};
  Listener listener;
  const SessionEnd end = start(spec, listener);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
  Listener fresh;
  spec.start = {};
  start(spec, fresh);
  QVERIFY(listener.steps.front().loss < fresh.steps.front().loss - 0.5);
}

void TestFineTuning::bad_fine_tuning_leaves_no_run_behind_data() {
  QTest::addColumn<int>("what");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("no such run") << 0 << "There is no run 999 to begin from";
  QTest::newRow("no such step") << 1 << "no checkpoint of step 7";
  QTest::newRow("another shape") << 2 << "is not that of run";
  QTest::newRow("no base") << 3 << "start.run is missing";
  QTest::newRow("no records") << 4 << "fine_tuning.records is missing";
  QTest::newRow("no such file") << 5 << "nowhere.jsonl";
  QTest::newRow("bad record") << 6 << "bad.jsonl, record 2 (line 2): \"completion\"";
  QTest::newRow("no marker") << 7 << "needs the token <|im_start|>";
  QTest::newRow("nothing trained") << 8 << "leaves no token to train on";
}

void TestFineTuning::bad_fine_tuning_leaves_no_run_behind() {
  QFETCH(int, what);
  QFETCH(QString, sentence);
  RunSpec spec = tuning(1);
  if (what == 0) spec.start.run = 999;
  if (what == 1) spec.start.step = 7;
  if (what == 2) spec.model.layers += 1;
  if (what == 3) spec.start = {};
  if (what == 4) spec.fine_tuning.records.clear();
  if (what == 5) spec.fine_tuning.records = "nowhere.jsonl";
  if (what == 6)
    spec.fine_tuning.records =
        write("bad.jsonl",
              "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":\"a\",\"completion\":5}\n")
            .string();
  if (what == 7) spec.fine_tuning.chat_template = ChatFormat::chatml;
  if (what == 8)
    spec.fine_tuning.records =
        write("long.jsonl", "{\"prompt\":\"" + std::string(800, 'x') +
                                "\",\"completion\":\"b\"}\n{\"prompt\":\"" + std::string(900, 'y') +
                                "\",\"completion\":\"b\"}\n")
            .string();
  const std::size_t before = RunStore(home_).runs().size();
  try {
    Listener listener;
    start(spec, listener);
    QFAIL("no error was thrown");
  } catch (const Error& error) {
    QVERIFY2(error.message().find(sentence.toStdString()) != std::string::npos, error.what());
  }
  QCOMPARE(RunStore(home_).runs().size(), before);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestFineTuning)
#include "test_fine_tuning.moc"
