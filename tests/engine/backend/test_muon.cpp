// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/card_traits.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/engine/backend/muon_roundings.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"
#include "tests/support/reference_muon.h"

namespace athanor {
namespace {

/// Of a step from weights of 0 without decay, so that they become what X is multiplied with.
Muon step_of(Arena& arena, const Shape& shape, DType operands, double gradient) {
  const std::int64_t side = std::min(shape[0], shape[1]);
  return {.to = {.weights = zero_tensor(arena, DType::f32, shape), .master = {}, .low_bits = {}},
          .gradients = random_tensor(arena, DType::f32, shape, 1, gradient),
          .momentum = random_tensor(arena, DType::f32, shape, 2, gradient),
          .x = zero_tensor(arena, operands, shape),
          .next = zero_tensor(arena, operands, shape),
          .gram = zero_tensor(arena, operands, {side, side}),
          .polynomial = zero_tensor(arena, operands, {side, side}),
          .at = {.learning_rate = 0.01F}};
}

Matrix direction_of(const Muon& ran) {
  Matrix x{ran.x.shape[0], ran.x.shape[1], {}};
  for (std::int64_t i = 0; i < ran.x.elements(); ++i)
    x.numbers.push_back(-value_at(ran.to.weights, i) / muon_step_length(ran));
  return x;
}

}  // namespace

/// What Muon promises of a whole matrix, beyond each number's closeness to the reference.
class TestMuon : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void init() { arena_.rewind(empty_); }

  void devices_data();
  void singular_values_come_near_one_data() { devices_data(); }
  void singular_values_come_near_one();
  void errs_by_its_roundings_data() { devices_data(); }
  void errs_by_its_roundings();
  void no_gradient_is_no_step_data() { devices_data(); }
  void no_gradient_is_no_step();
  void a_large_gradient_steps_as_far_data() { devices_data(); }
  void a_large_gradient_steps_as_far();

 private:
  Backend& device() {
    QFETCH(const bool, card);
    return card ? *card_.backend : *processor_;
  }
  DType operands() {
    QFETCH(const bool, card);
    return card ? DType::bf16 : DType::f32;
  }
  Shape shape() {
    QFETCH(const int, rows);
    QFETCH(const int, columns);
    return {rows, columns};
  }

  Arena arena_{std::int64_t{64} << 20};
  Arena::Mark empty_;
  cuda::EmulatedCard card_;
  std::unique_ptr<Backend> processor_ = make_cpu_backend(2);
};

void TestMuon::initTestCase() {
  const std::int64_t bytes = cuda::card_traits().workspace_bytes;
  card_.backend->use_workspace(arena_.take(MemoryRole::workspace, DType::u8, {bytes}));
  empty_ = arena_.mark();
}

/// So far from square that no singular value of random numbers is near 0.
void TestMuon::devices_data() {
  QTest::addColumn<bool>("card");
  QTest::addColumn<int>("rows");
  QTest::addColumn<int>("columns");
  QTest::newRow("processor, wide") << false << 16 << 64;
  QTest::newRow("processor, tall") << false << 96 << 33;
  QTest::newRow("emulated card, wide") << true << 16 << 64;
  QTest::newRow("emulated card, tall") << true << 70 << 20;
}

/// Made five times, 3.4445σ − 4.7750σ³ + 2.0315σ⁵ takes all of [0.02, 1] into [0.6818, 1.1344].
void TestMuon::singular_values_come_near_one() {
  const Muon op = step_of(arena_, shape(), operands(), 0.1);
  device().run(op);
  const std::vector<double> values = singular_values(direction_of(op));
  qInfo("from %.3f to %.3f", values.back(), values.front());
  // BF16 moves the matrix by about 2 % of its norm, and a singular value by no more than that.
  const double rounding = muon_roundings(op).norm / muon_step_length(op);
  QVERIFY(values.back() > 0.681 - rounding);
  QVERIFY(values.front() < 1.135 + rounding);
}

void TestMuon::errs_by_its_roundings() {
  const Muon op = step_of(arena_, shape(), operands(), 0.1);
  device().run(op);
  const Matrix exact = muon_direction(op);
  Matrix error = direction_of(op);
  for (std::size_t i = 0; i < error.numbers.size(); ++i)
    error.numbers[i] -= exact.numbers[i];
  const double allowed = 2 * muon_roundings(op).norm / muon_step_length(op);
  qInfo("error %.2e of %.2f, allowed %.2e", error.norm(), exact.norm(), allowed);
  QVERIFY(error.norm() < allowed);
  // What is allowed would not hide another coefficient, or one iteration less.
  QVERIFY(allowed < 0.05 * exact.norm());
}

void TestMuon::no_gradient_is_no_step() {
  Muon op = step_of(arena_, shape(), operands(), 0);
  fill(op.to.weights, 3);
  op.at.decay = 0.5F;
  device().run(op);
  for (std::int64_t i = 0; i < op.x.elements(); ++i) {
    QVERIFY(std::abs(value_at(op.to.weights, i) - 3 * (1 - 0.01 * 0.5)) < 1e-6);
    QCOMPARE(value_at(op.momentum, i), 0.0);
  }
}

void TestMuon::a_large_gradient_steps_as_far() {
  const Muon usual = step_of(arena_, shape(), operands(), 1);
  const Muon large = step_of(arena_, shape(), operands(), 1e12);
  device().run(usual);
  device().run(large);
  Matrix difference = direction_of(usual);
  const Matrix other = direction_of(large);
  for (std::size_t i = 0; i < difference.numbers.size(); ++i)
    difference.numbers[i] -= other.numbers[i];
  QVERIFY(difference.norm() < 4 * muon_roundings(usual).norm / muon_step_length(usual));
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestMuon)
#include "test_muon.moc"
