// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/base/philox.h"
#include "engine/tensor/f16.h"
#include "engine/tensor/quantised_blocks.h"

Q_DECLARE_METATYPE(athanor::BlockFormat)

namespace athanor {
namespace {

constexpr std::uint32_t kHalves = 1 << 16;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

F16 half_of(std::uint32_t bits) {
  return {static_cast<std::uint16_t>(bits)};
}

/// Of the format's definition, without bit tricks.
double value_of(std::uint32_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 0x1F);
  const double mantissa = bits & 0x3FF;
  if (exponent == 31) {
    return mantissa == 0 ? sign * static_cast<double>(kInfinity)
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

std::vector<float> random_row(std::int64_t elements, float size) {
  std::vector<float> row(static_cast<std::size_t>(elements));
  const Philox random(1, 2);
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = size * (2 * random.uniform(i) - 1);
  return row;
}

std::vector<std::byte> blocks_for(BlockFormat format, const std::vector<float>& row) {
  return std::vector<std::byte>(static_cast<std::size_t>(block_row_bytes(format, std::ssize(row))));
}

std::vector<float> there_and_back(BlockFormat format, const std::vector<float>& row) {
  std::vector<std::byte> blocks = blocks_for(format, row);
  std::vector<float> back(row.size());
  if (!quantise_row(format, row, blocks)) return {};
  dequantise_row(format, blocks, back);
  return back;
}

int at(const std::vector<std::byte>& blocks, std::size_t i) {
  return std::to_integer<int>(blocks[i]);
}

void add_formats() {
  QTest::addColumn<BlockFormat>("format");
  QTest::newRow("q8_0") << BlockFormat::q8_0;
  QTest::newRow("q4_0") << BlockFormat::q4_0;
}

}  // namespace

/// Blocks of 32 codes and a half-precision scale, and that scale.
class TestQuantisedBlocks : public QObject {
  Q_OBJECT

 private slots:
  void all_halves_widen_exactly();
  void all_halves_come_back();
  void floats_round_to_the_nearest_half();
  void floats_between_any_two_halves_round_by_the_middle();
  void q8_blocks_have_the_bytes_of_the_format();
  void q4_blocks_have_the_bytes_of_the_format();
  void rows_come_back_within_half_a_step_data() { add_formats(); }
  void rows_come_back_within_half_a_step();
  void quantising_again_changes_nothing_data() { add_formats(); }
  void quantising_again_changes_nothing();
  void tiny_numbers_become_zero_data() { add_formats(); }
  void tiny_numbers_become_zero();
  void what_cannot_be_held_is_told_data() { add_formats(); }
  void what_cannot_be_held_is_told();
  void blocks_are_taken_apart_data() { add_formats(); }
  void blocks_are_taken_apart();
  void only_whole_blocks_are_counted();
};

void TestQuantisedBlocks::all_halves_widen_exactly() {
  for (std::uint32_t bits = 0; bits < kHalves; ++bits) {
    const double expected = value_of(bits);
    const float got = widened(half_of(bits));
    if (std::isnan(expected)) {
      QVERIFY(std::isnan(got));
      continue;
    }
    QCOMPARE(static_cast<double>(got), expected);
    QCOMPARE(std::signbit(got), (bits & 0x8000) != 0);
  }
}

void TestQuantisedBlocks::all_halves_come_back() {
  for (std::uint32_t bits = 0; bits < kHalves; ++bits) {
    const std::uint32_t back = nearest_f16(widened(half_of(bits))).bits;
    // What is no number comes back quiet, with its payload.
    const bool number = !std::isnan(value_of(bits));
    QCOMPARE(back, number ? bits : bits | 0x200);
  }
}

void TestQuantisedBlocks::floats_between_any_two_halves_round_by_the_middle() {
  constexpr std::uint32_t kLargest = 0x7BFF;
  for (std::uint32_t bits = 0; bits <= kLargest; ++bits) {
    const double above = bits == kLargest ? 65536 : value_of(bits + 1);
    const auto middle = static_cast<float>((value_of(bits) + above) / 2);  // exact
    for (const float sign : {1.0F, -1.0F}) {
      const std::uint32_t sign_bit = sign < 0 ? 0x8000 : 0;
      const std::uint32_t even = bits + bits % 2;
      QCOMPARE(nearest_f16(sign * middle).bits, even | sign_bit);
      QCOMPARE(nearest_f16(sign * std::nextafter(middle, 0.0F)).bits, bits | sign_bit);
      QCOMPARE(nearest_f16(sign * std::nextafter(middle, kInfinity)).bits, (bits + 1) | sign_bit);
    }
  }
}

void TestQuantisedBlocks::floats_round_to_the_nearest_half() {
  QCOMPARE(nearest_f16(65519.996F).bits, 0x7BFF);
  QCOMPARE(nearest_f16(65520).bits, 0x7C00);
  QCOMPARE(nearest_f16(std::numeric_limits<float>::max()).bits, 0x7C00);
  QCOMPARE(nearest_f16(-kInfinity).bits, 0xFC00);
  QCOMPARE(nearest_f16(std::numeric_limits<float>::denorm_min()).bits, 0);
  QCOMPARE(nearest_f16(-0.0F).bits, 0x8000);
  QVERIFY(std::isnan(widened(nearest_f16(std::numeric_limits<float>::quiet_NaN()))));
}

void TestQuantisedBlocks::q8_blocks_have_the_bytes_of_the_format() {
  std::vector<float> row(32, 0.0F);
  row[0] = 127;
  row[1] = -63.5F;  // halves go away from zero
  row[2] = 0.49F;
  row[31] = -127;
  std::vector<std::byte> blocks = blocks_for(BlockFormat::q8_0, row);
  QCOMPARE(blocks.size(), std::size_t{34});
  QVERIFY(quantise_row(BlockFormat::q8_0, row, blocks));
  QCOMPARE(at(blocks, 0), 0x00);  // 1 in half precision is 0x3C00
  QCOMPARE(at(blocks, 1), 0x3C);
  QCOMPARE(at(blocks, 2), 127);
  QCOMPARE(at(blocks, 3), 256 - 64);
  QCOMPARE(at(blocks, 4), 0);
  QCOMPARE(at(blocks, 33), 256 - 127);
}

void TestQuantisedBlocks::q4_blocks_have_the_bytes_of_the_format() {
  std::vector<float> row(32, 0.0F);
  row[0] = -16;  // the extreme is code 0 and the scale 2
  row[16] = 16;  // as large, but later: 8 steps up, of which 7 are there
  row[1] = 3;    // half-way between codes goes up
  row[17] = -3;
  std::vector<std::byte> blocks = blocks_for(BlockFormat::q4_0, row);
  QCOMPARE(blocks.size(), std::size_t{18});
  QVERIFY(quantise_row(BlockFormat::q4_0, row, blocks));
  QCOMPARE(at(blocks, 0), 0x00);  // 2 in half precision is 0x4000
  QCOMPARE(at(blocks, 1), 0x40);
  QCOMPARE(at(blocks, 2), 0xF0);
  QCOMPARE(at(blocks, 3), 0x7A);
  QCOMPARE(at(blocks, 4), 0x88);

  std::ranges::transform(row, row.begin(), [](float x) { return -x; });
  QVERIFY(quantise_row(BlockFormat::q4_0, row, blocks));
  QCOMPARE(at(blocks, 1), 0xC0);  // the scale has the extreme's sign
  QCOMPARE(at(blocks, 2), 0xF0);
}

void TestQuantisedBlocks::rows_come_back_within_half_a_step() {
  QFETCH(const BlockFormat, format);
  for (const float size : {1e-3F, 1.0F, 1e5F}) {
    const std::vector<float> row = random_row(64 * kBlock_elements, size);
    const std::vector<float> back = there_and_back(format, row);
    QCOMPARE(back.size(), row.size());
    for (std::size_t first = 0; first < row.size(); first += kBlock_elements) {
      const auto block = std::span(row).subspan(first, kBlock_elements);
      const auto magnitude = [](float x) { return std::abs(x); };
      const float most = std::abs(*std::ranges::max_element(block, {}, magnitude));
      const float step = most / (format == BlockFormat::q8_0 ? 127.0F : 8.0F);
      // Beyond half a step, the scale's rounding moves the largest code's value by up to 2^-11 of
      // it, and by up to 2^-25 times the code below the normal numbers. Codes of q4_0 end at 7: a
      // number at the other end is off by a whole step.
      const float half_step = format == BlockFormat::q8_0 ? step / 2 : step;
      const float bound = half_step * 1.0001F + most * 0x1p-11F + 127 * 0x1p-25F;
      for (std::size_t i = first; i < first + kBlock_elements; ++i)
        QVERIFY2(std::abs(row[i] - back[i]) <= bound, qPrintable(QString::number(i)));
    }
  }
}

void TestQuantisedBlocks::quantising_again_changes_nothing() {
  QFETCH(const BlockFormat, format);
  const std::vector<float> row = there_and_back(format, random_row(64 * kBlock_elements, 0.25F));
  QVERIFY(!row.empty());
  const std::vector<float> again = there_and_back(format, row);
  QCOMPARE(again, row);
}

void TestQuantisedBlocks::tiny_numbers_become_zero() {
  QFETCH(const BlockFormat, format);
  for (const float size : {0.0F, 1e-45F, 1e-38F, 1e-8F}) {
    for (const float x : there_and_back(format, random_row(kBlock_elements, size)))
      QCOMPARE(x, 0.0F);
  }
}

void TestQuantisedBlocks::what_cannot_be_held_is_told() {
  QFETCH(const BlockFormat, format);
  // From here on the scale rounds to infinity.
  const float too_large = 65520 * (format == BlockFormat::q8_0 ? 127.0F : 8.0F);
  for (const float bad : {kInfinity, -kInfinity, std::nanf(""), too_large}) {
    std::vector<float> row = random_row(2 * kBlock_elements, 1);
    row[40] = bad;
    std::vector<std::byte> blocks = blocks_for(format, row);
    QVERIFY(!quantise_row(format, row, blocks));
    QVERIFY(has_finite_scales(format, blocks));
    row[40] = std::nextafter(too_large, 0.0F);
    QVERIFY(quantise_row(format, row, blocks));
    QVERIFY(has_finite_scales(format, blocks));
  }
  std::vector<std::byte> blocks(static_cast<std::size_t>(2 * block_bytes(format)));
  blocks[static_cast<std::size_t>(block_bytes(format)) + 1] = std::byte{0x7C};
  QVERIFY(!has_finite_scales(format, blocks));
}

void TestQuantisedBlocks::blocks_are_taken_apart() {
  QFETCH(const BlockFormat, format);
  const std::vector<float> row = random_row(3 * kBlock_elements, 2);
  std::vector<std::byte> blocks = blocks_for(format, row);
  QVERIFY(quantise_row(format, row, blocks));
  const auto code_bytes = static_cast<std::size_t>(block_code_bytes(format));
  std::vector<std::byte> codes(3 * code_bytes);
  std::vector<std::uint16_t> scales(3);
  split_blocks(format, blocks, codes, scales);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t start = i * (2 + code_bytes);
    QCOMPARE(static_cast<int>(scales[i]), at(blocks, start) + 256 * at(blocks, start + 1));
    for (std::size_t j = 0; j < code_bytes; ++j)
      QCOMPARE(codes[i * code_bytes + j], blocks[start + 2 + j]);
  }
}

void TestQuantisedBlocks::only_whole_blocks_are_counted() {
  QVERIFY(is_whole_blocks(0));
  QVERIFY(is_whole_blocks(576));
  QVERIFY(!is_whole_blocks(48));
  QVERIFY(!is_whole_blocks(-32));
  QCOMPARE(block_row_bytes(BlockFormat::q8_0, 576), std::int64_t{18 * 34});
  QCOMPARE(block_row_bytes(BlockFormat::q4_0, 576), std::int64_t{18 * 18});
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestQuantisedBlocks)
#include "test_quantised_blocks.moc"
