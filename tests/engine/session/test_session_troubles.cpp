// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <optional>

#include "engine/base/json.h"
#include "engine/session/chat_session.h"
#include "engine/session/training_session.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/tiny_run.h"

namespace athanor {

/// What a session says and leaves behind when text, memory, files or disk are not as they should.
class TestSessionTroubles : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void texts_shorter_than_the_context_data();
  void texts_shorter_than_the_context();
  void a_run_too_large_now_is_not_resumed();
  void a_damaged_checkpoint_is_told_and_kept();
  void a_full_disk_ends_the_run_and_says_so();

 private:
  RunSpec tiny_spec(std::int64_t steps) const;
  /// A run of 40 steps that was stopped after `step`.
  SessionEnd stopped_run(std::int64_t step) const;

  std::unique_ptr<QTemporaryDir> folder_;
  std::filesystem::path home_;
};

void TestSessionTroubles::init() {
  folder_ = std::make_unique<QTemporaryDir>();
  home_ = folder_->filePath("home").toStdString();
  write_file_atomically(folder_->filePath("text.txt").toStdString(), tiny_text(40'000));
}

RunSpec TestSessionTroubles::tiny_spec(std::int64_t steps) const {
  return {.name = "Tiny",
          .preset = "",
          .sources = {{.path = folder_->filePath("text.txt").toStdString()}},
          .model = tiny_model(),
          .train = tiny_train(steps)};
}

SessionEnd TestSessionTroubles::stopped_run(std::int64_t step) const {
  TrainControl control;
  Listener listener;
  listener.at_step = [&](std::int64_t at) {
    if (at == step) control.stop();
  };
  return TrainingSession(home_).start(tiny_spec(40), control, listener);
}

void TestSessionTroubles::texts_shorter_than_the_context_data() {
  QTest::addColumn<std::string>("text");
  QTest::addColumn<int>("context");
  QTest::addColumn<std::string>("sentence");
  const auto row = [](const char* name, const std::string& text, int context,
                      const char* sentence) {
    QTest::newRow(name) << text << context << std::string(sentence);
  };
  const std::string text = tiny_text(400).substr(0, 300);
  row("by far", text, 1024, "short.txt has ");
  row("in tokens", text, 290, " tokens to train on. Choose a context of at most ");
  row("below every context", std::string(12, 'a'), 8, " tokens to train on. Choose a longer text.");
}

void TestSessionTroubles::texts_shorter_than_the_context() {
  QFETCH(const std::string, text);
  QFETCH(const int, context);
  QFETCH(const std::string, sentence);
  RunSpec spec = tiny_spec(10);
  const std::string file = folder_->filePath("short.txt").toStdString();
  spec.sources = {{.path = file}};
  spec.model.context = context;
  write_file_atomically(file, text);
  ATHANOR_EXPECT_ERROR(prepare_data(home_, spec, CancelToken(), {}), ErrorKind::invalid_argument,
                       sentence);
}

void TestSessionTroubles::a_run_too_large_now_is_not_resumed() {
  const SessionEnd stopped = stopped_run(12);
  const std::filesystem::path file = RunStore(home_).run_folder(stopped.record.id) / "spec.json";
  Json spec = read_json_file(file);
  spec["train"]["micro_batch"] = 4096;
  spec["model"]["context"] = 32768;
  write_file_atomically(file, spec.dump());
  TrainControl control;
  Listener listener;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).resume(stopped.record.id, {}, control, listener),
                       ErrorKind::invalid_argument,
                       " GiB are free. Close other programs, then resume again.");
}

void TestSessionTroubles::a_damaged_checkpoint_is_told_and_kept() {
  const SessionEnd stopped = stopped_run(17);
  const std::filesystem::path run = RunStore(home_).run_folder(stopped.record.id);
  std::filesystem::resize_file(run / "checkpoints/step-00000017/weights.safetensors", 100);
  const std::string sentence =
      "The checkpoint of step 17 is damaged (" +
      (run / "checkpoints/step-00000017/weights.safetensors").string() +
      " was cut off or changed after it was saved), so the one of step 10 is used. The damaged "
      "folder can be deleted.";
  QCOMPARE(ChatSession(run, std::nullopt).notice(), sentence);

  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).resume(stopped.record.id, {}, control, listener);
  QVERIFY(end.record.status == RunStatus::finished);
  QCOMPARE(listener.notices.size(), 1U);
  QCOMPARE(listener.notices.front().title, std::string("Resumed from an older checkpoint"));
  QCOMPARE(listener.notices.front().text, sentence);
  QVERIFY2(listener.noticed_at_step == 10, "it is told once the run has started");
  const std::vector<EventRow> events = RunStore(home_).events(end.record.id);
  QVERIFY(std::ranges::any_of(events, [&](const EventRow& event) {
    return event.kind == "checkpoint_damaged" && event.text == sentence;
  }));
}

void TestSessionTroubles::a_full_disk_ends_the_run_and_says_so() {
  TrainControl control;
  Listener listener;
  std::optional<FileSizeLimit> limit;
  listener.at_step = [&](std::int64_t step) {
    if (step == 12) limit.emplace(4096);
  };
  const SessionEnd end = TrainingSession(home_).start(tiny_spec(40), control, listener);
  limit.reset();
  QVERIFY(end.record.status == RunStatus::paused);
  QVERIFY(end.problem_kind == ErrorKind::io);
  QVERIFY(end.record.step >= 12);
  const std::string& problem = end.record.problem;
  QVERIFY2(problem.find(home_.string()) != std::string::npos, problem.c_str());
  QVERIFY2(problem.ends_with(" Then resume."), problem.c_str());

  Listener rest;
  const SessionEnd resumed = TrainingSession(home_).resume(end.record.id, {}, control, rest);
  QVERIFY(resumed.record.status == RunStatus::finished);
  QCOMPARE(rest.started.first_step, 10);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestSessionTroubles)
#include "test_session_troubles.moc"
