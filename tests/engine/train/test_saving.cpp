// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "tests/support/tiny_run.h"

namespace athanor {

/// When checkpoints are saved, and what of their evaluation is kept.
class TestSaving : public QObject {
  Q_OBJECT

 private slots:
  void saves_by_the_clock();
  void saves_before_validating();
  void an_evaluation_cut_off_after_its_checkpoint_is_made_up_for();
  void a_checkpoint_removed_by_hand_does_not_end_training();
};

void TestSaving::saves_by_the_clock() {
  const TinyData data;
  const auto backend = best_backend();
  TrainConfig config = tiny_train(12);
  config.checkpoint_interval = config.evaluation_interval = 0;
  config.checkpoint_minutes = 1e-9;
  Trainer trainer(data.inputs(tiny_model(), config), *backend);
  TrainControl control;
  TrainRecorder recorder;
  trainer.run(control, recorder);
  // A save that is due while another is under way waits for its turn; only the last is evaluated.
  QVERIFY(recorder.checkpoints.size() >= 2);
  QCOMPARE(recorder.checkpoints.front().step, 1);
  QVERIFY(!recorder.checkpoints.front().validation_loss);
  QCOMPARE(recorder.checkpoints.back().step, 12);
  QVERIFY(recorder.checkpoints.back().validation_loss && recorder.checkpoints.back().best);
  QCOMPARE(recorder.evaluations.size(), 1U);
}

void TestSaving::saves_before_validating() {
  const TinyData data;
  const auto backend = best_backend();
  TrainConfig config = tiny_train(10);
  config.checkpoint_interval = 0;
  config.evaluation_interval = 5;
  config.checkpoint_before_evaluation = true;
  const Trainer::Inputs inputs = data.inputs(tiny_model(), config);
  Trainer trainer(inputs, *backend);
  TrainControl control;
  TrainRecorder recorder;
  trainer.run(control, recorder);
  QCOMPARE(recorder.checkpoints.size(), 2U);
  QCOMPARE(recorder.checkpoints.front().step, 5);
  QCOMPARE(recorder.checkpoints.front().validation_loss.value_or(0),
           recorder.evaluations.front().loss);
  QCOMPARE(
      CheckpointFolder::load(recorder.checkpoints.front().path, false).validation_loss.value_or(0),
      recorder.evaluations.front().loss);
}

void TestSaving::an_evaluation_cut_off_after_its_checkpoint_is_made_up_for() {
  const TinyData data;
  const auto backend = best_backend();
  TrainControl control;
  const Trainer::Inputs inputs = data.inputs(tiny_model(), tiny_train(10));
  TrainRecorder whole;
  Trainer(inputs, *backend).run(control, whole);
  const std::filesystem::path last = whole.checkpoints.back().path;
  Json manifest = read_json_file(last / "checkpoint.json");
  QVERIFY(manifest.erase("validation_loss") == 1);
  write_file_atomically(last / "checkpoint.json", manifest.dump());

  const CheckpointFolder::Loaded from = CheckpointFolder::load(last, true);
  Trainer trainer(inputs, *backend, &from);
  TrainRecorder recorder;
  QVERIFY(trainer.run(control, recorder) == Trainer::End::finished);
  QCOMPARE(recorder.steps.size(), 0U);
  QCOMPARE(recorder.evaluations.size(), 1U);
  QCOMPARE(recorder.evaluations.front().loss, whole.evaluations.back().loss);
  QCOMPARE(CheckpointFolder::load(last, false).validation_loss.value_or(0),
           whole.evaluations.back().loss);
}

void TestSaving::a_checkpoint_removed_by_hand_does_not_end_training() {
  const TinyData data;
  const auto backend = best_backend();
  const Trainer::Inputs inputs = data.inputs(tiny_model(), tiny_train(30));
  class RemoveAt : public TrainRecorder {
   public:
    explicit RemoveAt(std::filesystem::path folder) : folder_(std::move(folder)) {}
    void on_step(const StepMetrics& metrics) override {
      TrainRecorder::on_step(metrics);
      if (metrics.step == 15) std::filesystem::remove_all(folder_);
    }

   private:
    std::filesystem::path folder_;
  } recorder(inputs.checkpoints);
  TrainControl control;
  Trainer trainer(inputs, *backend);
  QVERIFY(trainer.run(control, recorder) == Trainer::End::finished);
  std::vector<std::int64_t> left;
  for (const auto& entry : CheckpointFolder(inputs.checkpoints).list())
    left.push_back(entry.step);
  QCOMPARE(left, (std::vector<std::int64_t>{20, 30}));
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestSaving)
#include "test_saving.moc"
