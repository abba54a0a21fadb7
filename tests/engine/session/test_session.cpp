// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <thread>

#include "engine/base/json.h"
#include "engine/data/story_corpus.h"
#include "engine/session/chat_session.h"
#include "engine/session/training_session.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {

class TestSession : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void presets_are_sound();
  void specs_round_trip();
  void bad_specs_name_the_field_data();
  void bad_specs_name_the_field();
  void a_run_is_recorded_whole();
  void data_is_prepared_once();
  void a_damaged_cache_is_made_again();
  void stopped_and_resumed_equals_uninterrupted();
  void a_run_outlives_its_text();
  void changed_text_is_told();
  void finished_and_unknown_runs_are_not_resumed();
  void a_diverged_run_is_paused_and_resumes_slower();
  void bad_data_leaves_no_run_behind();
  void a_run_too_large_is_refused_before_it_starts();
  void chat_answers_from_a_checkpoint();

 private:
  RunSpec tiny_spec(std::int64_t steps) const;
  std::string weights_of(std::int64_t run_id, std::int64_t step) const;

  std::unique_ptr<QTemporaryDir> folder_;
  std::filesystem::path home_;
};

void TestSession::init() {
  folder_ = std::make_unique<QTemporaryDir>();
  home_ = folder_->filePath("home").toStdString();
  write_file_atomically(folder_->filePath("text.txt").toStdString(), tiny_text(40'000));
}

RunSpec TestSession::tiny_spec(std::int64_t steps) const {
  return {.name = "Tiny",
          .preset = "",
          .sources = {{.path = folder_->filePath("text.txt").toStdString()}},
          .model = tiny_model(),
          .train = tiny_train(steps)};
}

std::string TestSession::weights_of(std::int64_t run_id, std::int64_t step) const {
  const QString file = QString("home/runs/%1/checkpoints/step-%2/weights.safetensors")
                           .arg(run_id, 6, 10, QChar('0'))
                           .arg(step, 8, 10, QChar('0'));
  return read_small_file(folder_->filePath(file).toStdString());
}

void TestSession::presets_are_sound() {
  QCOMPARE(presets().size(), 8U);
  QCOMPARE(presets().front().id, std::string("spark"));
  for (const Preset& preset : presets()) {
    const TrainPlan plan = plan_training(preset.spec.model, preset.spec.train, BackendTraits());
    QVERIFY2(plan.memory.peak_bytes > 16 * plan.parameters, preset.id.c_str());
    QVERIFY2(!preset.description.empty(), preset.id.c_str());
  }
  ATHANOR_EXPECT_ERROR(preset("huge"), ErrorKind::not_found, "Choose spark, nano, small");
}

void TestSession::specs_round_trip() {
  for (const Preset& preset : presets()) {
    const Json json = run_spec_to_json(preset.spec);
    QCOMPARE(run_spec_to_json(run_spec_from_json(json, "spec")).dump(), json.dump());
  }
}

void TestSession::bad_specs_name_the_field_data() {
  QTest::addColumn<QString>("json");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("no format") << "{}"
                             << "\"format\": 1";
  QTest::newRow("newer format") << R"({"format": 2})"
                                << "format";
  QTest::newRow("unknown part") << R"({"format": 1, "modle": {}})"
                                << "no setting modle";
  QTest::newRow("unknown field") << R"({"format": 1, "train": {"lr": 1}})"
                                 << "no setting train.lr";
  QTest::newRow("wrong type") << R"({"format": 1, "model": {"layers": "four"}})"
                              << "model.layers must be a whole number; it is \"four\"";
  QTest::newRow("fraction") << R"({"format": 1, "model": {"layers": 2.5}})"
                            << "model.layers must be a whole number; it is 2.5";
  QTest::newRow("out of bounds") << R"({"format": 1, "train": {"steps": 0}})"
                                 << "train.steps must be between 1";
  QTest::newRow("unknown name") << R"({"format": 1, "train": {"schedule": "steps"}})"
                                << "one_cycle, cosine, linear, warmup_stable_decay or constant";
  QTest::newRow("not a group") << R"({"format": 1, "data": 3})"
                               << "data must be a group";
  QTest::newRow("list") << "[]"
                        << "must be a group";
}

void TestSession::bad_specs_name_the_field() {
  QFETCH(QString, json);
  QFETCH(QString, sentence);
  ATHANOR_EXPECT_ERROR(run_spec_from_json(parse_json(json.toStdString(), "my.json"), "my.json"),
                       ErrorKind::invalid_argument, sentence.toStdString());
}

void TestSession::a_run_is_recorded_whole() {
  TrainControl control;
  Listener listener;
  RunSpec spec = tiny_spec(30);
  spec.train.learning_rate = 2e-2;
  const SessionEnd end = TrainingSession(home_).start(spec, control, listener);
  QVERIFY(end.record.status == RunStatus::finished);
  QCOMPARE(listener.steps.size(), 30U);
  QCOMPARE(listener.started.allocated_bytes, listener.started.plan.memory.peak_bytes);
  QVERIFY(end.record.validation_loss.value_or(99) < end.unigram_entropy);

  const RunStore store(home_);
  const std::vector<MetricRow> metrics = store.metrics(end.record.id);
  QCOMPARE(metrics.size(), 30U);
  for (std::size_t i = 0; i < 30; ++i)
    QCOMPARE(metrics[i].loss, listener.steps[i].loss);
  QCOMPARE(store.evaluations(end.record.id).size(), 3U);
  QCOMPARE(store.checkpoints(end.record.id).size(), 3U);
  const auto record = store.run(end.record.id);
  QVERIFY(record.has_value());
  QVERIFY(record->status == RunStatus::finished);
  QCOMPARE(record->step, 30);
  QCOMPARE(record->spec, run_spec_to_json(spec).dump());
}

void TestSession::data_is_prepared_once() {
  Listener first;
  const PreparedData made = prepare_data(
      home_, tiny_spec(1), CancelToken(),
      [&](const std::string& stage, std::int64_t, std::int64_t) { first.stages.insert(stage); });
  const auto written = std::filesystem::last_write_time(made.folder / "train.tokens");
  const PreparedData again = prepare_data(home_, tiny_spec(1), CancelToken(), {});
  QCOMPARE(again.folder, made.folder);
  QVERIFY(std::filesystem::last_write_time(made.folder / "train.tokens") == written);
  QCOMPARE(again.unigram_entropy, made.unigram_entropy);
  QVERIFY(!first.stages.empty());
}

void TestSession::a_damaged_cache_is_made_again() {
  const std::filesystem::path folder = prepare_data(home_, tiny_spec(1), CancelToken(), {}).folder;
  write_file_atomically(folder / "train.tokens", "nonsense");
  const PreparedData again = prepare_data(home_, tiny_spec(1), CancelToken(), {});
  QVERIFY(again.train.tokens() > 1000);
}

void TestSession::stopped_and_resumed_equals_uninterrupted() {
  TrainControl free_control;
  Listener listener;
  const SessionEnd whole = TrainingSession(home_).start(tiny_spec(40), free_control, listener);

  TrainControl control;
  Listener until_stop;
  until_stop.at_step = [&](std::int64_t step) {
    if (step == 17) control.stop();
  };
  const SessionEnd stopped = TrainingSession(home_).start(tiny_spec(40), control, until_stop);
  QVERIFY(stopped.record.status == RunStatus::stopped);
  QCOMPARE(stopped.record.step, 17);
  Listener rest;
  const SessionEnd end = TrainingSession(home_).resume(stopped.record.id, {}, free_control, rest);
  QVERIFY(end.record.status == RunStatus::finished);
  QCOMPARE(rest.started.first_step, 17);
  QVERIFY(weights_of(whole.record.id, 40) == weights_of(end.record.id, 40));
  const RunStore store(home_);
  const auto left = store.metrics(whole.record.id);
  const auto right = store.metrics(end.record.id);
  QCOMPARE(right.size(), left.size());
  for (std::size_t i = 0; i < left.size(); ++i)
    QCOMPARE(right[i].loss, left[i].loss);
}

void TestSession::a_run_outlives_its_text() {
  TrainControl control;
  Listener listener;
  listener.at_step = [&](std::int64_t step) {
    if (step == 12) control.stop();
  };
  const SessionEnd stopped = TrainingSession(home_).start(tiny_spec(20), control, listener);
  QVERIFY(QFile::remove(folder_->filePath("text.txt")));
  TrainControl again;
  Listener rest;
  const SessionEnd end = TrainingSession(home_).resume(stopped.record.id, {}, again, rest);
  QVERIFY(end.record.status == RunStatus::finished);
}

void TestSession::changed_text_is_told() {
  TrainControl control;
  Listener listener;
  listener.at_step = [&](std::int64_t step) {
    if (step == 12) control.stop();
  };
  const SessionEnd stopped = TrainingSession(home_).start(tiny_spec(20), control, listener);
  QVERIFY(QDir(folder_->filePath("home/data")).removeRecursively());
  QVERIFY(QDir(folder_->filePath("home/runs/000001/data")).removeRecursively());
  write_file_atomically(folder_->filePath("text.txt").toStdString(), tiny_text(50'000));
  TrainControl again;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).resume(stopped.record.id, {}, again, listener),
                       ErrorKind::damaged, "has changed since this run began");
}

void TestSession::finished_and_unknown_runs_are_not_resumed() {
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(tiny_spec(10), control, listener);
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).resume(end.record.id, {}, control, listener),
                       ErrorKind::invalid_argument, "is finished");
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).resume(99, {}, control, listener),
                       ErrorKind::not_found, "There is no run 99");
}

void TestSession::a_diverged_run_is_paused_and_resumes_slower() {
  RunSpec spec = tiny_spec(40);
  spec.train.learning_rate = 1e9;
  spec.train.schedule = Schedule::linear;
  // The first ten steps run at a rate that rounds to almost nothing; then the warm-up's end comes.
  spec.train.warmup_fraction = 1;
  spec.train.checkpoint_interval = 1;
  spec.train.clip_norm = 0;
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(spec, control, listener);
  QVERIFY(end.record.status == RunStatus::paused);
  QVERIFY(end.problem_kind == ErrorKind::non_finite);
  QVERIFY2(end.record.problem.find("at step ") != std::string::npos, end.record.problem.c_str());
  const RunStore store(home_);
  QVERIFY(store.run(end.record.id)->status == RunStatus::paused);
  if (store.checkpoints(end.record.id).empty()) return;
  const SessionEnd slower = TrainingSession(home_).resume(
      end.record.id, {.learning_rate_scale = 1e-12}, control, listener);
  QCOMPARE(listener.started.spec.train.learning_rate, 1e9 * 1e-12);
  QVERIFY(slower.record.step >= end.record.step || !slower.record.problem.empty());
}

void TestSession::bad_data_leaves_no_run_behind() {
  RunSpec spec = tiny_spec(10);
  TrainControl control;
  Listener listener;
  spec.model.context = 20'000;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).start(spec, control, listener),
                       ErrorKind::invalid_argument, "is longer than the text");
  spec = tiny_spec(10);
  spec.sources = {{.path = folder_->filePath("missing.txt").toStdString()}};
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).start(spec, control, listener), ErrorKind::not_found,
                       "missing.txt");
  QVERIFY(RunStore(home_).runs().empty());
  QVERIFY(!QDir(folder_->filePath("home/runs")).exists() ||
          QDir(folder_->filePath("home/runs")).isEmpty());
}

void TestSession::a_run_too_large_is_refused_before_it_starts() {
  RunSpec spec = tiny_spec(10);
  spec.model.layers = 512;
  spec.model.width = 8192;
  spec.model.heads = 64;
  spec.model.ffn = 65536;
  TrainControl control;
  Listener listener;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).start(spec, control, listener),
                       ErrorKind::invalid_argument, "GiB are free");
}

void TestSession::chat_answers_from_a_checkpoint() {
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(tiny_spec(20), control, listener);
  const std::filesystem::path run = RunStore(home_).run_folder(end.record.id);
  ChatSession newest(run, std::nullopt);
  QCOMPARE(newest.step(), 20);
  ChatSession older(run, 10);
  QCOMPARE(older.step(), 10);
  const Generation answer = newest.generator().generate("Anna", {.max_tokens = 8}, CancelToken(),
                                                        [](const std::string&) {});
  QVERIFY(answer.tokens > 0);
  ATHANOR_EXPECT_ERROR(ChatSession(run, 7), ErrorKind::not_found, "no checkpoint of step 7");
  ChatSession few_bits(run, 20, {}, WeightFormat::q4_0);
  QVERIFY(few_bits.generator().allocated_bytes() < newest.generator().allocated_bytes());
  QCOMPARE(few_bits.weights_note(), std::string());
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestSession)
#include "test_session.moc"
