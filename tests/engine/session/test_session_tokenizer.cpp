// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/file.h"
#include "engine/io/checkpoint.h"
#include "engine/session/chat_session.h"
#include "engine/session/training_session.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace fs = std::filesystem;

/// Runs with a tokenizer of one's own.
class TestSessionTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void a_run_uses_the_tokenizer_it_names();
  void a_run_outlives_its_tokenizer();
  void a_small_vocabulary_is_refused();
  void prepared_data_is_the_tokenizers();
  void ids_without_a_token_are_never_sampled();

 private:
  RunSpec spec(std::int64_t steps) const;
  fs::path tokenizer() const { return folder_->filePath("mine").toStdString(); }

  std::unique_ptr<QTemporaryDir> folder_;
  fs::path home_;
};

void TestSessionTokenizer::init() {
  folder_ = std::make_unique<QTemporaryDir>();
  home_ = folder_->filePath("home").toStdString();
  write_file_atomically(folder_->filePath("text.txt").toStdString(), tiny_text(40'000));
  create_folders(tokenizer());
  train_tokenizer("Anna lost the key at the mill. The girl found it in the garden.", 290,
                  CancelToken())
      .save(tokenizer() / "tokenizer.json");
}

RunSpec TestSessionTokenizer::spec(std::int64_t steps) const {
  RunSpec made{.name = "Tiny",
               .sources = {{.path = folder_->filePath("text.txt").toStdString()}},
               .data = {.tokenizer = tokenizer().string()},
               .model = tiny_model(),
               .train = tiny_train(steps)};
  made.model.vocabulary = 384;
  return made;
}

void TestSessionTokenizer::a_run_uses_the_tokenizer_it_names() {
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(spec(10), control, listener);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
  QVERIFY(!listener.stages.contains("Learning tokens"));
  const fs::path run = RunStore(home_).run_folder(end.record.id);
  QCOMPARE(Tokenizer::load(run).fingerprint(), Tokenizer::load(tokenizer()).fingerprint());
}

void TestSessionTokenizer::a_run_outlives_its_tokenizer() {
  TrainControl control;
  Listener listener;
  listener.at_step = [&](std::int64_t step) {
    if (step == 12) control.stop();
  };
  const SessionEnd stopped = TrainingSession(home_).start(spec(20), control, listener);
  QVERIFY(QDir(folder_->filePath("mine")).removeRecursively());
  QVERIFY(QDir(folder_->filePath("home/data")).removeRecursively());
  TrainControl again;
  Listener rest;
  const SessionEnd end = TrainingSession(home_).resume(stopped.record.id, {}, again, rest);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
}

void TestSessionTokenizer::a_small_vocabulary_is_refused() {
  RunSpec small = spec(10);
  small.model.vocabulary = 257;
  TrainControl control;
  Listener listener;
  ATHANOR_EXPECT_ERROR(TrainingSession(home_).start(small, control, listener),
                       ErrorKind::invalid_argument, "model.vocabulary of 257 is smaller");
  QVERIFY(RunStore(home_).runs().empty());
}

void TestSessionTokenizer::prepared_data_is_the_tokenizers() {
  const CancelToken cancel;
  const RunSpec named = spec(10);
  RunSpec trained = named;
  trained.data.tokenizer.clear();
  RunSpec wider = named;
  wider.model.vocabulary = 512;
  const fs::path folder = prepare_data(home_, named, cancel, {}).folder;
  QVERIFY(prepare_data(home_, trained, cancel, {}).folder != folder);
  QCOMPARE(prepare_data(home_, wider, cancel, {}).folder, folder);
  train_tokenizer("Another text, another tokenizer.", 270, cancel)
      .save(tokenizer() / "tokenizer.json");
  QVERIFY(prepare_data(home_, named, cancel, {}).folder != folder);
}

void TestSessionTokenizer::ids_without_a_token_are_never_sampled() {
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(spec(10), control, listener);
  ChatSession chat(RunStore(home_).run_folder(end.record.id), std::nullopt);
  // Hot enough that each of the 384 ids is about as probable: token_bytes() throws beyond the
  // tokenizer's.
  for (std::int64_t seed = 1; seed <= 10; ++seed) {
    const SamplingOptions hot{
        .temperature = 10, .top_k = 0, .top_p = 1, .seed = seed, .max_tokens = 20};
    chat.generator().generate("Anna", hot, CancelToken(), [](const std::string&) {});
  }
  const CheckpointFolder checkpoints(RunStore(home_).run_folder(end.record.id) / "checkpoints");
  const CheckpointFolder::Loaded loaded =
      CheckpointFolder::load(checkpoints.list().back().path, false);
  ModelConfig narrow = spec(10).model;
  narrow.vocabulary = 257;
  const auto backend = best_backend();
  const Tokenizer mine = Tokenizer::load(tokenizer());
  ATHANOR_EXPECT_ERROR(Generator(narrow, loaded.weights, mine, *backend), ErrorKind::damaged,
                       "but the model knows 257");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestSessionTokenizer)
#include "test_session_tokenizer.moc"
