// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

TrainConfig stored_as(WeightStorage weights, std::int64_t steps) {
  TrainConfig train = tiny_train(steps);
  train.weights = weights;
  return train;
}

std::vector<double> curve(const TinyData& data, const TrainConfig& config, int threads = 0) {
  const auto backend = best_backend(threads);
  Trainer trainer(data.inputs(tiny_model(), config), *backend);
  return losses_of(trainer);
}

}  // namespace

/// Training with weights, gradients and activations stored in BF16.
class TestStorage : public QObject {
  Q_OBJECT

 private slots:
  void fp32_is_what_a_run_has_unasked();
  void lower_half_and_copy_give_the_same_bits();
  void learns_as_well_as_fp32_data();
  void learns_as_well_as_fp32();
  void threads_do_not_change_a_bit();
  void same_seed_same_bits_when_rounded_at_random();
  void resumed_equals_uninterrupted_data();
  void resumed_equals_uninterrupted();
  void other_storage_is_refused_data();
  void other_storage_is_refused();
  void a_master_on_the_host_changes_no_bit_data();
  void a_master_on_the_host_changes_no_bit();
};

void TestStorage::fp32_is_what_a_run_has_unasked() {
  const TrainConfig train;
  QVERIFY(train.weights == WeightStorage::f32);
  QVERIFY(train.gradients == Precision::f32 && train.activations == Precision::f32);
}

void TestStorage::lower_half_and_copy_give_the_same_bits() {
  const TinyData data;
  const auto backend = best_backend();
  Trainer copy(data.inputs(tiny_model(), stored_as(WeightStorage::bf16_master, 30)), *backend);
  Trainer half(data.inputs(tiny_model(), stored_as(WeightStorage::bf16_split, 30)), *backend);
  QCOMPARE(losses_of(copy), losses_of(half));
  QVERIFY(same_bytes(copy.memory().weights, half.memory().weights));
  QVERIFY(half.allocated_bytes() < copy.allocated_bytes());
}

void TestStorage::learns_as_well_as_fp32_data() {
  QTest::addColumn<int>("weights");
  QTest::addColumn<bool>("gradients");
  QTest::addColumn<bool>("activations");
  QTest::addColumn<double>("allowed");
  const auto row = [](const char* name, WeightStorage weights, bool gradients, bool activations,
                      double allowed) {
    QTest::newRow(name) << static_cast<int>(weights) << gradients << activations << allowed;
  };
  row("activations", WeightStorage::f32, false, true, 0.01);
  row("gradients", WeightStorage::f32, true, false, 0.01);
  row("weights and a copy", WeightStorage::bf16_master, false, false, 0.01);
  row("weights rounded at random", WeightStorage::bf16_stochastic, false, false, 0.01);
  row("all", WeightStorage::bf16_split, true, true, 0.01);
}

void TestStorage::learns_as_well_as_fp32() {
  QFETCH(const int, weights);
  QFETCH(const bool, gradients);
  QFETCH(const bool, activations);
  QFETCH(const double, allowed);
  constexpr std::int64_t kSteps = 200;
  const TinyData data;
  const auto backend = best_backend();
  const auto final_loss = [&](const TrainConfig& config) {
    Trainer trainer(data.inputs(tiny_model(), config), *backend);
    losses_of(trainer);
    return trainer.evaluate().loss;
  };
  const double fp32 = final_loss(tiny_train(kSteps));
  TrainConfig config = stored_as(static_cast<WeightStorage>(weights), kSteps);
  config.gradients = gradients ? Precision::bf16 : Precision::f32;
  config.activations = activations ? Precision::bf16 : Precision::f32;
  const double stored = final_loss(config);
  qInfo("after %lld steps: FP32 %.4f, stored so %.4f", static_cast<long long>(kSteps), fp32,
        stored);
  QVERIFY(std::abs(stored / fp32 - 1) < allowed);
}

void TestStorage::threads_do_not_change_a_bit() {
  const TinyData data;
  TrainConfig config = stored_as(WeightStorage::bf16_stochastic, 6);
  config.gradients = config.activations = Precision::bf16;
  const std::vector<double> one = curve(data, config, 1);
  QCOMPARE(curve(data, config, 2), one);
  QCOMPARE(curve(data, config, 3), one);
}

void TestStorage::same_seed_same_bits_when_rounded_at_random() {
  const TinyData data;
  TrainConfig config = stored_as(WeightStorage::bf16_stochastic, 6);
  const std::vector<double> first = curve(data, config);
  QCOMPARE(curve(data, config), first);
}

void TestStorage::resumed_equals_uninterrupted_data() {
  QTest::addColumn<int>("weights");
  for (std::size_t i = 0; i < names_of(WeightStorage{}).size(); ++i)
    QTest::addRow("%s", names_of(WeightStorage{})[i].data()) << static_cast<int>(i);
}

void TestStorage::resumed_equals_uninterrupted() {
  QFETCH(const int, weights);
  const TinyData data;
  const auto backend = best_backend();
  TrainConfig config = stored_as(static_cast<WeightStorage>(weights), 40);
  config.gradients = config.activations = Precision::bf16;
  Trainer whole(data.inputs(tiny_model(), config, "whole"), *backend);
  losses_of(whole);
  const Trainer::Inputs inputs = data.inputs(tiny_model(), config, "stopped");
  Trainer stopped(inputs, *backend);
  losses_of(stopped, 17);
  std::vector<std::string> problems;
  const auto from = CheckpointFolder(inputs.checkpoints).load_newest(true, problems);
  QCOMPARE(from.step, 17);
  Trainer rest(inputs, *backend, &from);
  QVERIFY(same_bytes(rest.memory().weights, stopped.memory().weights));
  losses_of(rest);
  QVERIFY(same_bytes(rest.memory().weights, whole.memory().weights));
}

void TestStorage::other_storage_is_refused_data() {
  QTest::addColumn<int>("saved");
  QTest::addColumn<int>("asked");
  QTest::addColumn<QByteArray>("part");
  const auto row = [](WeightStorage saved, WeightStorage asked, const char* part) {
    QTest::newRow(part) << static_cast<int>(saved) << static_cast<int>(asked) << QByteArray(part);
  };
  row(WeightStorage::f32, WeightStorage::bf16_split,
      "was saved with FP32 weights, but the run's settings ask for BF16 weights with their lower");
  row(WeightStorage::bf16_master, WeightStorage::bf16_stochastic,
      "was saved with BF16 weights with an FP32 master, but the run's settings ask for BF16 "
      "weights rounded at random");
  row(WeightStorage::bf16_stochastic, WeightStorage::f32,
      "was saved with BF16 weights rounded at random, but the run's settings ask for FP32");
}

void TestStorage::other_storage_is_refused() {
  QFETCH(const int, saved);
  QFETCH(const int, asked);
  QFETCH(const QByteArray, part);
  const TinyData data;
  const auto backend = best_backend();
  Trainer::Inputs inputs =
      data.inputs(tiny_model(), stored_as(static_cast<WeightStorage>(saved), 3));
  Trainer trainer(inputs, *backend);
  losses_of(trainer);
  std::vector<std::string> problems;
  const auto from = CheckpointFolder(inputs.checkpoints).load_newest(true, problems);
  inputs.train.weights = static_cast<WeightStorage>(asked);
  ATHANOR_EXPECT_ERROR(Trainer(inputs, *backend, &from), ErrorKind::damaged, part.toStdString());
}

void TestStorage::a_master_on_the_host_changes_no_bit_data() {
  QTest::addColumn<int>("weights");
  QTest::newRow("copy") << static_cast<int>(WeightStorage::bf16_master);
  QTest::newRow("lower half") << static_cast<int>(WeightStorage::bf16_split);
}

void TestStorage::a_master_on_the_host_changes_no_bit() {
  QFETCH(const int, weights);
  const TinyData data;
  TrainConfig config = stored_as(static_cast<WeightStorage>(weights), 6);
  const std::vector<double> here = curve(data, config);
  config.offload_master = true;
  QCOMPARE(curve(data, config), here);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestStorage)
#include "test_storage.moc"
