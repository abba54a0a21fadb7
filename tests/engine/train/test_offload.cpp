// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>

#include "tests/support/expect_error.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

/// Several layers, so that what is brought for one is not what the next needs, and tensors wide
/// enough for 8-bit moments.
ModelConfig deep_model() {
  ModelConfig model = tiny_model();
  model.width = 64;
  model.layers = 5;
  return model;
}

TrainConfig resident(std::int64_t steps) {
  TrainConfig train = tiny_train(steps);
  train.micro_batch = 2;
  train.gradient_accumulation = 2;
  train.recompute_level = 6;
  return train;
}

TrainConfig offloaded(std::int64_t steps) {
  TrainConfig train = resident(steps);
  train.recompute_level = 7;
  train.offload_moments = true;
  train.offload_gradients = true;
  return train;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<std::byte> weights;
  std::int64_t device_bytes = 0;
  std::int64_t host_bytes = 0;

  bool same_bits(const Outcome& other) const {
    return losses == other.losses && weights == other.weights;
  }
};

Outcome outcome_of(const Trainer& trainer, const TrainRecorder& recorder) {
  Outcome outcome;
  for (const StepMetrics& step : recorder.steps)
    outcome.losses.push_back(step.loss);
  const auto bytes = trainer.memory().weights.byte_span();
  outcome.weights.assign(bytes.begin(), bytes.end());
  outcome.device_bytes = trainer.allocated_bytes();
  outcome.host_bytes = trainer.plan().host.peak_bytes;
  return outcome;
}

Outcome train(const TinyData& data, const ModelConfig& model, const TrainConfig& config) {
  const auto backend = best_backend();
  Trainer trainer(data.inputs(model, config), *backend);
  TrainControl control;
  TrainRecorder recorder;
  trainer.run(control, recorder);
  return outcome_of(trainer, recorder);
}

std::int64_t files_in(const QString& folder) {
  return QDir(folder).entryList(QDir::Files | QDir::Hidden).size();
}

}  // namespace

/// Training with a part of the state in the host tier.
class TestOffload : public QObject {
  Q_OBJECT

 private slots:
  void nothing_is_offloaded_unasked();
  void what_does_not_fit_trains_with_the_same_bits();
  void every_choice_has_the_same_bits_data();
  void every_choice_has_the_same_bits();
  void resumed_equals_uninterrupted();
  void leaves_no_file();
  void a_full_disk_is_told_before_the_first_step();
  void a_folder_that_is_not_there_is_told();
  void a_master_there_is_not_cannot_be_offloaded();
};

void TestOffload::nothing_is_offloaded_unasked() {
  QCOMPARE(plan_training(deep_model(), TrainConfig(), BackendTraits()).host.peak_bytes, 0);
}

void TestOffload::what_does_not_fit_trains_with_the_same_bits() {
  const TinyData data;
  const Outcome whole = train(data, deep_model(), resident(12));
  const std::int64_t budget = whole.device_bytes / 2;
  const Outcome part = train(data, deep_model(), offloaded(12));
  qInfo("%lld KiB on the device and %lld KiB in the file instead of %lld KiB",
        static_cast<long long>(part.device_bytes >> 10),
        static_cast<long long>(part.host_bytes >> 10),
        static_cast<long long>(whole.device_bytes >> 10));
  QVERIFY(part.device_bytes <= budget);
  QVERIFY(part.same_bits(whole));
}

void TestOffload::every_choice_has_the_same_bits_data() {
  QTest::addColumn<int>("level");
  QTest::addColumn<int>("further_layers");
  QTest::addColumn<bool>("moments");
  QTest::addColumn<bool>("gradients");
  QTest::addColumn<bool>("eight_bit");
  QTest::newRow("block inputs") << 7 << 0 << false << false << false;
  QTest::newRow("some block inputs") << 6 << 2 << false << false << false;
  QTest::newRow("moments") << 0 << 0 << true << false << false;
  QTest::newRow("8-bit moments") << 0 << 0 << true << false << true;
  QTest::newRow("gradients") << 2 << 0 << false << true << false;
  QTest::newRow("all, 8-bit") << 7 << 0 << true << true << true;
}

void TestOffload::every_choice_has_the_same_bits() {
  QFETCH(const int, level);
  QFETCH(const int, further_layers);
  QFETCH(const bool, moments);
  QFETCH(const bool, gradients);
  QFETCH(const bool, eight_bit);
  const TinyData data;
  for (const bool tied : {true, false}) {
    ModelConfig model = deep_model();
    model.tied = tied;
    model.biases = !tied;
    TrainConfig config = resident(4);
    config.moments = eight_bit ? Moments::eight_bit : Moments::f32;
    const Outcome expected = train(data, model, config);
    config.recompute_level = level;
    config.recompute_further_layers = further_layers;
    config.offload_moments = moments;
    config.offload_gradients = gradients;
    QVERIFY2(train(data, model, config).same_bits(expected), tied ? "tied" : "untied");
  }
}

void TestOffload::resumed_equals_uninterrupted() {
  const TinyData data;
  const auto backend = best_backend();
  const auto run = [&](Trainer& trainer, std::int64_t stop_at) {
    TrainControl control;
    StoppingRecorder stop(control, stop_at);
    trainer.run(control, stop);
  };
  Trainer whole(data.inputs(deep_model(), offloaded(20), "whole"), *backend);
  run(whole, 20);
  const Trainer::Inputs inputs = data.inputs(deep_model(), offloaded(20), "stopped");
  {
    Trainer stopped(inputs, *backend);
    run(stopped, 7);
  }
  std::vector<std::string> problems;
  const auto from = CheckpointFolder(inputs.checkpoints).load_newest(true, problems);
  QCOMPARE(from.step, 7);
  Trainer rest(inputs, *backend, &from);
  run(rest, 20);
  QVERIFY(same_bytes(rest.memory().weights, whole.memory().weights));
}

void TestOffload::leaves_no_file() {
  const TinyData data;
  const std::int64_t before = files_in(data.folder.path());
  const auto backend = best_backend();
  const Trainer trainer(data.inputs(deep_model(), offloaded(4)), *backend);
  // It has no name even while it is used, so nothing can be left of it.
  QCOMPARE(files_in(data.folder.path()), before);
}

void TestOffload::a_full_disk_is_told_before_the_first_step() {
  const TinyData data;
  const auto backend = best_backend();
  const FileSizeLimit limit(10'000);
  ATHANOR_EXPECT_ERROR(Trainer(data.inputs(deep_model(), offloaded(4)), *backend), ErrorKind::io,
                       "are offloaded to it: File too large. Make room there, or offload less.");
}

void TestOffload::a_folder_that_is_not_there_is_told() {
  const TinyData data;
  const auto backend = best_backend();
  ATHANOR_EXPECT_ERROR(
      Trainer(data.inputs(deep_model(), offloaded(4), "nowhere/checkpoints"), *backend),
      ErrorKind::io, "No such file or directory");
}

void TestOffload::a_master_there_is_not_cannot_be_offloaded() {
  TrainConfig train = offloaded(4);
  train.offload_master = true;
  ATHANOR_EXPECT_ERROR(plan_training(deep_model(), train, BackendTraits()),
                       ErrorKind::invalid_argument, "train.offload_master");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestOffload)
#include "test_offload.moc"
