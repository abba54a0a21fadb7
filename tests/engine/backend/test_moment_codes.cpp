// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/moment_codes.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/support/in_arena.h"
#include "tests/support/moment_values.h"

namespace athanor {

/// What 8-bit moments can stand for, and that what is kept is the nearest of it.
class TestMomentCodes : public QObject {
  Q_OBJECT

 private slots:
  void codes_are_the_dynamic_map_data();
  void codes_are_the_dynamic_map();
  void a_bucket_holds_one_bound_at_most_data() { codes_are_the_dynamic_map_data(); }
  void a_bucket_holds_one_bound_at_most();
  void kept_moments_are_the_nearest();
  void moments_of_zero_stay_zero();
  void a_small_v_is_never_lost_beside_its_m();
};

void TestMomentCodes::codes_are_the_dynamic_map_data() {
  QTest::addColumn<bool>("with_sign");
  QTest::newRow("m") << true;
  QTest::newRow("v") << false;
}

void TestMomentCodes::codes_are_the_dynamic_map() {
  QFETCH(const bool, with_sign);
  const MomentCodes& map = with_sign ? signed_moment_codes() : unsigned_moment_codes();
  const std::vector<double>& values = with_sign ? signed_moment_values() : unsigned_moment_values();
  QCOMPARE(values.size(), 256U);
  QVERIFY(std::is_sorted(map.values.begin(), map.values.end(), std::less_equal<>()));
  for (std::size_t i = 0; i < values.size(); ++i)
    QVERIFY(std::abs(map.values[i] - values[i]) <= 0x1p-23 * std::abs(values[i]));
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    QVERIFY(map.values[i] < map.bounds[i] && map.bounds[i] < map.values[i + 1]);
  QCOMPARE(map.values[with_sign ? 127 : 0], 0.0F);
  QCOMPARE(map.values.back(), 1.0F);
  QCOMPARE(map.values.front(), with_sign ? -static_cast<float>(1 - 0.9 / 128) : 0.0F);
}

void TestMomentCodes::a_bucket_holds_one_bound_at_most() {
  QFETCH(const bool, with_sign);
  const MomentCodes& map = with_sign ? signed_moment_codes() : unsigned_moment_codes();
  QVERIFY(std::isinf(map.bounds.back()));
  for (std::size_t bucket = 0; bucket + 1 < MomentCodes::kBuckets; ++bucket) {
    // Away from zero, positive buckets rise and negative ones fall.
    QVERIFY(map.bounds_below[bucket + 1] - map.bounds_below[bucket] <= 1);
    const std::size_t negative = bucket + MomentCodes::kBuckets;
    QVERIFY(map.bounds_below[negative] - map.bounds_below[negative + 1] <= 1);
  }
}

namespace {

/// A fresh state of `elements`, with gradients of many sizes.
AdamW8 fresh(Arena& arena, std::int64_t elements) {
  const Shape blocks{moment_blocks(elements)};
  AdamW8 op{.to = {.weights = random_tensor(arena, DType::f32, {elements}, 1)},
            .gradients = random_tensor(arena, DType::f32, {elements}, 2),
            .m = zero_tensor(arena, DType::u8, {elements}),
            .v = zero_tensor(arena, DType::u8, {elements}),
            .m_scale = zero_tensor(arena, DType::f32, blocks),
            .v_scale = zero_tensor(arena, DType::f32, blocks),
            .at = {.learning_rate = 1e-3F}};
  for (std::int64_t i = 0; i < elements; ++i)
    op.gradients.as<float>()[i] *= std::pow(10.0F, -static_cast<float>(i % 7));
  return op;
}

double distance_to_nearest(const std::vector<double>& values, double share) {
  return std::abs(values[static_cast<std::size_t>(nearest_moment_code(values, share))] - share);
}

}  // namespace

void TestMomentCodes::kept_moments_are_the_nearest() {
  constexpr std::int64_t kElements = 50'000;
  for (const std::string& set : cpu_instruction_sets()) {
    force_cpu_instruction_set(set);
    Arena arena(std::int64_t{1} << 20);
    const AdamW8 op = fresh(arena, kElements);
    make_cpu_backend(2)->run(op);
    for (std::int64_t i = 0; i < kElements; ++i) {
      const double g = op.gradients.as<float>()[i];
      const double m_scale = op.m_scale.as<float>()[i / kMomentBlock];
      const double v_scale = op.v_scale.as<float>()[i / kMomentBlock];
      const double m = (1.0F - op.at.beta1) * g / m_scale;
      const double v = (1.0F - op.at.beta2) * g * g / v_scale;
      const double kept_m = signed_moment_values()[op.m.as<std::uint8_t>()[i]];
      const double kept_v = unsigned_moment_values()[op.v.as<std::uint8_t>()[i]];
      // What FP32 loses on the way to the share, and of the codes.
      constexpr double kRounding = 0x1p-21;
      QVERIFY(std::abs(kept_m - m) <=
              distance_to_nearest(signed_moment_values(), m) + kRounding * std::abs(m));
      // Below half the least code, the least is kept.
      const double least = unsigned_moment_values()[1];
      QVERIFY(std::abs(kept_v - v) <=
              (v < least ? least : distance_to_nearest(unsigned_moment_values(), v)) +
                  kRounding * v);
    }
  }
  force_cpu_instruction_set({});
}

void TestMomentCodes::moments_of_zero_stay_zero() {
  Arena arena(std::int64_t{1} << 20);
  const AdamW8 op = fresh(arena, 300);
  fill(op.gradients, 0);
  const Tensor before = random_tensor(arena, DType::f32, {300}, 1);
  make_cpu_backend(1)->run(op);
  QVERIFY(std::ranges::equal(op.to.weights.span<float>(), before.span<float>()));
  QVERIFY(std::ranges::all_of(op.m.span<std::uint8_t>(), [](int code) { return code == 127; }));
  QVERIFY(std::ranges::all_of(op.v.span<std::uint8_t>(), [](int code) { return code == 0; }));
}

void TestMomentCodes::a_small_v_is_never_lost_beside_its_m() {
  Arena arena(std::int64_t{1} << 20);
  AdamW8 op = fresh(arena, 256);
  fill(op.gradients, 1e-4);
  set_value(op.gradients, 0, 1);
  const auto backend = make_cpu_backend(1);
  backend->run(op);
  // A gradient that stops, as that of a unit which is switched off.
  fill(op.gradients, 0);
  const float before = op.to.weights.as<float>()[7];
  op.at.step = 2;
  backend->run(op);
  QVERIFY(std::abs(op.to.weights.as<float>()[7] - before) < op.at.learning_rate);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestMomentCodes)
#include "test_moment_codes.moc"
