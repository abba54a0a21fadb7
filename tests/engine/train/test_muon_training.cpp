// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cmath>

#include "engine/backend/registry.h"
#include "tests/support/expect_error.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_muon.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

#ifdef ATHANOR_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TrainConfig train_with(Optimizer optimizer, std::int64_t steps) {
  TrainConfig train = tiny_train(steps);
  train.optimizer = optimizer;
  return train;
}

TrainConfig muon(std::int64_t steps) {
  return train_with(Optimizer::muon, steps);
}

bool same_state(const Trainer& a, const Trainer& b) {
  const std::vector<Tensor>& kept = a.memory().optimizer().flat();
  const std::vector<Tensor>& others = b.memory().optimizer().flat();
  return same_bytes(a.memory().weights, b.memory().weights) &&
         std::equal(kept.begin(), kept.end(), others.begin(), others.end(), same_bytes);
}

CheckpointFolder::Loaded newest(const Trainer::Inputs& inputs) {
  std::vector<std::string> problems;
  return CheckpointFolder(inputs.checkpoints).load_newest(true, problems);
}

}  // namespace

/// Training with Muon.
class TestMuonTraining : public QObject {
  Q_OBJECT

 private slots:
  void adamw_is_what_a_run_has_unasked();
  void matrices_of_layers_have_a_momentum();
  void each_matrix_is_a_step_of_its_own();
  void scratch_is_that_of_the_largest_matrix();
  void planned_bytes_are_allocated_bytes();
  void threads_do_not_change_a_bit();
  void resumed_equals_uninterrupted_data();
  void resumed_equals_uninterrupted();
  void copy_and_lower_half_give_the_same_bits();
  void offloading_changes_no_bit();
  void the_other_optimizer_is_refused_data();
  void the_other_optimizer_is_refused();
  void moments_in_8_bits_are_refused();
  void learns_faster_than_adamw();
};

void TestMuonTraining::adamw_is_what_a_run_has_unasked() {
  QVERIFY(TrainConfig().optimizer == Optimizer::adamw);
  Arena arena;
  const ParameterTable table(tiny_model());
  QVERIFY(!OptimizerState(table, TrainConfig(), DType::f32, arena).any_of_muon());
}

void TestMuonTraining::matrices_of_layers_have_a_momentum() {
  ModelConfig model = tiny_model();
  model.biases = true;
  model.qk_norm = true;
  model.tied = false;
  Arena arena;
  const ParameterTable table(model);
  const OptimizerState state(table, muon(1), DType::f32, arena);
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const Parameter& of = table.all()[i];
    const bool matrix = of.name.starts_with("layers.") && of.shape.rank() == 2;
    QCOMPARE(state.of(i).of_muon(), matrix);
    QCOMPARE(state.of(i).m.present(), !matrix);
    QCOMPARE(state.of(i).v.present(), !matrix);
  }
  using Rows = std::vector<std::int64_t>;
  const auto rows_of = [&](int index) {
    return table.all()[static_cast<std::size_t>(index)].matrix_rows;
  };
  QCOMPARE(rows_of(table.layer(1).qkv), Rows({32, 16, 16}));
  QCOMPARE(rows_of(table.layer(1).attention_out), Rows({32}));
  QCOMPARE(rows_of(table.layer(1).up), Rows({64, 64}));
  QCOMPARE(rows_of(table.layer(1).down), Rows({32}));
  model.activation = Activation::gelu;
  const ParameterTable plain(model);
  QCOMPARE(plain.all()[static_cast<std::size_t>(plain.layer(0).up)].matrix_rows, Rows({64}));
}

/// Queries, keys and values, gate and up are matrices of their own, though they lie in one tensor.
void TestMuonTraining::each_matrix_is_a_step_of_its_own() {
  constexpr float kRate = 0.02F;
  const auto backend = best_backend();
  TrainConfig train = muon(1);
  train.clip_norm = 0;
  const TrainPlan plan = plan_training(tiny_model(), train, backend->traits());
  TrainArenas arenas(plan, *backend, {});
  TrainMemory memory(tiny_model(), train, *backend, arenas);
  const ParameterList& table = memory.parameters();
  Arena arena(1 << 20);
  copy_values(memory.gradients, random_tensor(arena, DType::f32, memory.gradients.shape, 1, 1e-3));
  memory.update(kRate, 1);
  int matrices = 0;
  for (std::size_t i = 0; i < table.all().size(); ++i) {
    const Tensor weights = table.view(memory.weights, static_cast<int>(i));
    const Tensor gradients = table.view(memory.gradients, static_cast<int>(i));
    std::int64_t first = 0;
    for (const std::int64_t rows : table.all()[i].matrix_rows) {
      Muon op{.to = {},
              .gradients = gradients.slice_rows(first, rows),
              .momentum = gradients.slice_rows(first, rows),
              .x = gradients.slice_rows(first, rows),
              .next = {},
              .gram = {},
              .polynomial = {},
              .at = {.learning_rate = kRate}};
      const Matrix wanted = muon_direction(op);
      const Tensor moved = weights.slice_rows(first, rows);
      // FP32 moves no number by as much as a hundredth of the largest.
      const double allowed = 0.01 * muon_step_length(op) * wanted.largest();
      for (std::int64_t n = 0; n < moved.elements(); ++n) {
        const double step = muon_step_length(op) * wanted.numbers[static_cast<std::size_t>(n)];
        QVERIFY(std::abs(value_at(moved, n) + step) < allowed);
      }
      first += rows;
      ++matrices;
    }
  }
  QCOMPARE(matrices, 2 * 7);
}

void TestMuonTraining::scratch_is_that_of_the_largest_matrix() {
  const TrainPlan plan = plan_training(tiny_model(), muon(1), BackendTraits());
  const auto bytes_of = [&](const std::string& name) {
    for (const Arena::Record& buffer : plan.buffers) {
      if (buffer.name.text() == name) return buffer.size_bytes;
    }
    return std::int64_t{0};
  };
  // Gate, up and down have 64 · 32 numbers, and 32 · 32 products of rows or columns.
  QCOMPARE(bytes_of("Muon's matrix"), 4 * 64 * 32);
  QCOMPARE(bytes_of("Muon's next matrix"), 4 * 64 * 32);
  QCOMPARE(bytes_of("Muon's Gram matrix"), 4 * 32 * 32);
  QCOMPARE(bytes_of("Muon's polynomial"), 4 * 32 * 32);
  const TrainPlan other = plan_training(tiny_model(), train_with(Optimizer::adamw, 1), {});
  const std::int64_t matrices = 2 * (32 * 64 + 32 * 32 + 128 * 32 + 32 * 64);
  QCOMPARE(other.memory.of(MemoryRole::optimizer) - plan.memory.of(MemoryRole::optimizer),
           4 * matrices);
}

void TestMuonTraining::planned_bytes_are_allocated_bytes() {
  const TinyData data;
  const auto backend = best_backend();
  Trainer trainer(data.inputs(tiny_model(), muon(2)), *backend);
  losses_of(trainer);
  QCOMPARE(trainer.allocated_bytes(), trainer.plan().memory.peak_bytes);
}

void TestMuonTraining::threads_do_not_change_a_bit() {
  const TinyData data;
  const Trainer::Inputs inputs = data.inputs(tiny_model(), muon(6));
  const auto backend = best_backend(1);
  Trainer one(inputs, *backend);
  const std::vector<double> losses = losses_of(one);
  for (const int threads : {2, 3}) {
    const auto threaded = best_backend(threads);
    Trainer several(inputs, *threaded);
    QCOMPARE(losses_of(several), losses);
    QVERIFY(same_state(one, several));
  }
}

void TestMuonTraining::resumed_equals_uninterrupted_data() {
  QTest::addColumn<int>("weights");
  for (std::size_t i = 0; i < names_of(WeightStorage{}).size(); ++i)
    QTest::addRow("%s", names_of(WeightStorage{})[i].data()) << static_cast<int>(i);
}

void TestMuonTraining::resumed_equals_uninterrupted() {
  const TinyData data;
  QFETCH(const int, weights);
  TrainConfig train = muon(20);
  train.weights = static_cast<WeightStorage>(weights);
  const auto backend = best_backend();
  Trainer whole(data.inputs(tiny_model(), train, "whole"), *backend);
  losses_of(whole);
  const Trainer::Inputs inputs = data.inputs(tiny_model(), train, "stopped");
  Trainer stopped(inputs, *backend);
  losses_of(stopped, 7);
  const auto from = newest(inputs);
  QCOMPARE(from.step, 7);
  Trainer rest(inputs, *backend, &from);
  QVERIFY(same_state(rest, stopped));
  losses_of(rest);
  QVERIFY(same_state(rest, whole));
}

void TestMuonTraining::copy_and_lower_half_give_the_same_bits() {
  const TinyData data;
  const auto backend = best_backend();
  const auto losses = [&](WeightStorage storage) {
    TrainConfig train = muon(8);
    train.weights = storage;
    Trainer trainer(data.inputs(tiny_model(), train), *backend);
    return losses_of(trainer);
  };
  QCOMPARE(losses(WeightStorage::bf16_split), losses(WeightStorage::bf16_master));
}

void TestMuonTraining::offloading_changes_no_bit() {
  const TinyData data;
  TrainConfig train = muon(6);
  train.weights = WeightStorage::bf16_master;
  train.gradient_accumulation = 2;
  const auto backend = best_backend();
  Trainer here(data.inputs(tiny_model(), train), *backend);
  const std::vector<double> losses = losses_of(here);
  train.offload_moments = train.offload_master = train.offload_gradients = true;
  Trainer offloaded(data.inputs(tiny_model(), train), *backend);
  QCOMPARE(losses_of(offloaded), losses);
  QVERIFY(same_bytes(offloaded.memory().weights, here.memory().weights));
  QCOMPARE(offloaded.allocated_bytes(), offloaded.plan().memory.peak_bytes);
  QVERIFY(offloaded.plan().memory.of(MemoryRole::optimizer) == 0);
}

void TestMuonTraining::the_other_optimizer_is_refused_data() {
  QTest::addColumn<bool>("saved_by_muon");
  QTest::addColumn<QByteArray>("part");
  QTest::newRow("Muon to AdamW") << true
                                 << QByteArray(
                                        "was saved with Muon, but the run's settings "
                                        "ask for AdamW");
  QTest::newRow("AdamW to Muon") << false
                                 << QByteArray(
                                        "was saved with AdamW, but the run's "
                                        "settings ask for Muon");
}

void TestMuonTraining::the_other_optimizer_is_refused() {
  const TinyData data;
  QFETCH(const bool, saved_by_muon);
  QFETCH(const QByteArray, part);
  const auto optimizer = [](bool is_muon) { return is_muon ? Optimizer::muon : Optimizer::adamw; };
  const auto backend = best_backend();
  Trainer::Inputs inputs = data.inputs(tiny_model(), train_with(optimizer(saved_by_muon), 3));
  Trainer trainer(inputs, *backend);
  losses_of(trainer);
  const auto from = newest(inputs);
  inputs.train.optimizer = optimizer(!saved_by_muon);
  ATHANOR_EXPECT_ERROR(Trainer(inputs, *backend, &from), ErrorKind::damaged, part.toStdString());
}

void TestMuonTraining::moments_in_8_bits_are_refused() {
  TrainConfig train = muon(1);
  train.moments = Moments::eight_bit;
  ATHANOR_EXPECT_ERROR(plan_training(tiny_model(), train, {}), ErrorKind::invalid_argument,
                       "train.moments must be FP32 where train.optimizer is Muon");
}

/// At a rate that is the best of several for AdamW.
void TestMuonTraining::learns_faster_than_adamw() {
  if (kSanitized) QSKIP("it takes long");
  const TinyData data;
  const auto backend = best_backend();
  const auto final_loss = [&](Optimizer optimizer) {
    TrainConfig train = train_with(optimizer, 150);
    train.learning_rate = 0.024;
    Trainer trainer(data.inputs(tiny_model(), train), *backend);
    losses_of(trainer);
    return trainer.evaluate().loss;
  };
  const double adamw = final_loss(Optimizer::adamw);
  const double muon = final_loss(Optimizer::muon);
  qInfo("AdamW %.4f, Muon %.4f", adamw, muon);
  QVERIFY(muon < adamw);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestMuonTraining)
#include "test_muon_training.moc"
