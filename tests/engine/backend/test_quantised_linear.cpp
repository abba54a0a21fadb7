// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/backend/cpu/cpu_backend.h"
#include "tests/engine/backend/case_maker.h"
#include "tests/support/in_arena.h"

Q_DECLARE_METATYPE(athanor::BlockFormat)

namespace athanor {
namespace {

constexpr std::int64_t kRows = 7;
constexpr std::int64_t kIn = 96;
constexpr std::int64_t kOut = 67;

}  // namespace

/// What the table of operations does not ask of products with quantised weights on a processor.
class TestQuantisedLinear : public QObject {
  Q_OBJECT

 private slots:
  void rows_have_the_same_bits_alone_data() { rows(); }
  void rows_have_the_same_bits_alone();
  void what_is_no_number_stays_in_its_row_data() { rows(); }
  void what_is_no_number_stays_in_its_row();
  void x_is_rounded_to_half_a_step();
  void blocks_of_nothing_give_nothing();

 private:
  static void rows();
  QuantisedLinear product(BlockFormat format);

  Arena arena_{std::int64_t{1} << 22};
  std::unique_ptr<Backend> backend_ = make_cpu_backend(2);
};

void TestQuantisedLinear::rows() {
  QTest::addColumn<BlockFormat>("format");
  QTest::newRow("q8_0") << BlockFormat::q8_0;
  QTest::newRow("q4_0") << BlockFormat::q4_0;
}

QuantisedLinear TestQuantisedLinear::product(BlockFormat format) {
  CaseMaker maker(arena_);
  const std::int64_t bytes = quantised_linear_scratch_bytes(backend_->traits(), kRows, kIn, kOut);
  return {.x = random_tensor(arena_, DType::f32, {kRows, kIn}, 7),
          .weight = maker.quantised(format, kOut, kIn),
          .bias = random_tensor(arena_, DType::f32, {kOut}, 8),
          .y = zero_tensor(arena_, DType::f32, {kRows, kOut}),
          .scratch = zero_tensor(arena_, DType::u8, {bytes})};
}

void TestQuantisedLinear::rows_have_the_same_bits_alone() {
  QFETCH(const BlockFormat, format);
  const ArenaScope scope(arena_);
  const QuantisedLinear together = product(format);
  backend_->run(together);
  for (std::int64_t row = 0; row < kRows; ++row) {
    QuantisedLinear alone = together;
    alone.x = together.x.slice_rows(row, 1);
    alone.y = zero_tensor(arena_, DType::f32, {1, kOut});
    backend_->run(alone);
    const Tensor wanted = together.y.slice_rows(row, 1);
    QVERIFY(std::memcmp(alone.y.data, wanted.data, static_cast<std::size_t>(wanted.bytes())) == 0);
  }
}

void TestQuantisedLinear::what_is_no_number_stays_in_its_row() {
  QFETCH(const BlockFormat, format);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
    const ArenaScope scope(arena_);
    const QuantisedLinear op = product(format);
    op.x.as<float>()[2 * kIn + 40] = bad;
    backend_->run(op);
    for (std::int64_t i = 0; i < op.y.elements(); ++i)
      QCOMPARE(std::isnan(op.y.as<float>()[i]), i / kOut == 2);
  }
}

void TestQuantisedLinear::x_is_rounded_to_half_a_step() {
  const ArenaScope scope(arena_);
  const QuantisedLinear op = product(BlockFormat::q8_0);
  backend_->run(op);
  const auto* codes = reinterpret_cast<const std::int16_t*>(op.scratch.data);
  const auto* scales = reinterpret_cast<const float*>(codes + op.x.elements());
  for (std::int64_t i = 0; i < op.x.elements(); ++i) {
    const float scale = scales[i / kBlock_elements];
    const double error = std::abs(double{op.x.as<float>()[i]} - double{scale} * codes[i]);
    // Half a step, and what rounding the scale and its inverse moves the largest code: two ulp.
    QVERIFY(error <= scale * (0.5 + 32767 * 0x1p-23));
  }
}

void TestQuantisedLinear::blocks_of_nothing_give_nothing() {
  const ArenaScope scope(arena_);
  QuantisedLinear op = product(BlockFormat::q8_0);
  op.bias = {};
  for (const float tiny : {0.0F, 1e-40F, 1e-36F}) {
    fill(op.x, tiny);
    backend_->run(op);
    for (std::int64_t i = 0; i < op.y.elements(); ++i)
      QCOMPARE(op.y.as<float>()[i], 0.0F);
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestQuantisedLinear)
#include "test_quantised_linear.moc"
