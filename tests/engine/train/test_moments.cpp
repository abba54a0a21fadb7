// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cmath>

#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

/// Wide enough that every matrix of its layers is kept in 8 bits.
ModelConfig wide_model() {
  ModelConfig model = tiny_model();
  model.width = 64;
  return model;
}

TrainConfig train_with(Moments moments, std::int64_t steps) {
  TrainConfig train = tiny_train(steps);
  train.checkpoint_interval = 20;
  train.moments = moments;
  return train;
}

void run_until(Trainer& trainer, std::int64_t step) {
  TrainControl control;
  StoppingRecorder recorder(control, step);
  trainer.run(control, recorder);
}

bool same_state(const Trainer& a, const Trainer& b) {
  const std::vector<Tensor>& moments = a.memory().optimizer().flat();
  const std::vector<Tensor>& others = b.memory().optimizer().flat();
  return same_bytes(a.memory().weights, b.memory().weights) &&
         std::equal(moments.begin(), moments.end(), others.begin(), others.end(), same_bytes);
}

double final_loss(const TinyData& data, const ModelConfig& model, Moments moments) {
  const auto backend = best_backend();
  Trainer trainer(data.inputs(model, train_with(moments, 200), "checkpoints"), *backend);
  run_until(trainer, 200);
  return trainer.evaluate().loss;
}

}  // namespace

/// Training with the optimizer's moments in 8 bits.
class TestMoments : public QObject {
  Q_OBJECT

 private slots:
  void fp32_is_what_a_run_has_unasked();
  void matrices_of_layers_are_coded();
  void planned_bytes_are_allocated_bytes();
  void threads_do_not_change_a_bit();
  void resumed_equals_uninterrupted();
  void moments_of_the_other_kind_are_refused_data();
  void moments_of_the_other_kind_are_refused();
  void learns_as_well_as_fp32_data();
  void learns_as_well_as_fp32();
};

void TestMoments::fp32_is_what_a_run_has_unasked() {
  QVERIFY(TrainConfig().moments == Moments::f32);
  Arena arena;
  const ParameterTable table(wide_model());
  QVERIFY(!OptimizerState(table, TrainConfig(), DType::f32, arena).any_coded());
}

void TestMoments::matrices_of_layers_are_coded() {
  Arena arena;
  ModelConfig model = wide_model();
  model.width = 4096;
  model.ffn = 4096;
  model.biases = true;
  model.tied = false;
  const ParameterTable table(model);
  const OptimizerState state(table, train_with(Moments::eight_bit, 1), DType::f32, arena);
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const std::string& name = table.all()[i].name;
    const bool kept = name == "embedding" || name == "head" || name.ends_with("norm");
    QCOMPARE(state.of(i).coded(), !kept);
  }
}

void TestMoments::planned_bytes_are_allocated_bytes() {
  const TinyData data;
  const auto backend = best_backend();
  Trainer trainer(data.inputs(wide_model(), train_with(Moments::eight_bit, 2)), *backend);
  QVERIFY(trainer.memory().optimizer().any_coded());
  run_until(trainer, 2);
  QCOMPARE(trainer.allocated_bytes(), trainer.plan().memory.peak_bytes);
}

void TestMoments::threads_do_not_change_a_bit() {
  const TinyData data;
  const Trainer::Inputs inputs = data.inputs(wide_model(), train_with(Moments::eight_bit, 8));
  const auto backend = best_backend(1);
  Trainer one(inputs, *backend);
  run_until(one, 8);
  for (const int threads : {2, 3}) {
    const auto threaded = best_backend(threads);
    Trainer several(inputs, *threaded);
    run_until(several, 8);
    QVERIFY(same_state(one, several));
  }
}

void TestMoments::resumed_equals_uninterrupted() {
  const TinyData data;
  const TrainConfig train = train_with(Moments::eight_bit, 40);
  const auto backend = best_backend();
  Trainer whole(data.inputs(wide_model(), train, "whole"), *backend);
  run_until(whole, 40);

  const Trainer::Inputs inputs = data.inputs(wide_model(), train, "stopped");
  Trainer stopped(inputs, *backend);
  run_until(stopped, 17);
  std::vector<std::string> problems;
  const auto from = CheckpointFolder(inputs.checkpoints).load_newest(true, problems);
  QCOMPARE(from.step, 17);
  Trainer rest(inputs, *backend, &from);
  QVERIFY(same_state(rest, stopped));
  run_until(rest, 40);
  QVERIFY(same_state(rest, whole));
}

void TestMoments::moments_of_the_other_kind_are_refused_data() {
  QTest::addColumn<int>("saved");
  QTest::addColumn<int>("asked");
  QTest::addColumn<QByteArray>("part");
  const auto row = [](const char* name, Moments saved, Moments asked, const char* part) {
    QTest::newRow(name) << static_cast<int>(saved) << static_cast<int>(asked) << QByteArray(part);
  };
  row("FP32 to 8-bit", Moments::f32, Moments::eight_bit,
      "was saved with FP32 moments, but the run's settings ask for 8-bit moments");
  row("8-bit to FP32", Moments::eight_bit, Moments::f32,
      "was saved with 8-bit moments, but the run's settings ask for FP32 moments");
}

void TestMoments::moments_of_the_other_kind_are_refused() {
  QFETCH(const int, saved);
  QFETCH(const int, asked);
  QFETCH(const QByteArray, part);
  const TinyData data;
  const auto backend = best_backend();
  Trainer::Inputs inputs = data.inputs(wide_model(), train_with(static_cast<Moments>(saved), 10));
  Trainer trainer(inputs, *backend);
  run_until(trainer, 3);
  std::vector<std::string> problems;
  const auto from = CheckpointFolder(inputs.checkpoints).load_newest(true, problems);
  inputs.train.moments = static_cast<Moments>(asked);
  ATHANOR_EXPECT_ERROR(Trainer(inputs, *backend, &from), ErrorKind::damaged, part.toStdString());
}

void TestMoments::learns_as_well_as_fp32_data() {
  QTest::addColumn<int>("activation");
  QTest::newRow("gated") << static_cast<int>(Activation::swiglu);
  // Units that are switched off have gradients of exactly zero.
  QTest::newRow("relu2") << static_cast<int>(Activation::relu2);
}

void TestMoments::learns_as_well_as_fp32() {
  QFETCH(const int, activation);
  const TinyData data;
  ModelConfig model = wide_model();
  model.activation = static_cast<Activation>(activation);
  const double fp32 = final_loss(data, model, Moments::f32);
  const double coded = final_loss(data, model, Moments::eight_bit);
  qInfo("after 200 steps: FP32 %.4f, 8-bit %.4f", fp32, coded);
  QVERIFY(std::abs(coded / fp32 - 1) < 0.03);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestMoments)
#include "test_moments.moc"
