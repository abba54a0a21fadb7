// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tensor/quantised_blocks.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace athanor {
namespace {

constexpr float kMost_q8 = 127;
constexpr float kQ4_zero = 8;
constexpr float kMost_q4 = 15;

using Values = std::span<const float, kBlock_elements>;

void write_scale(std::span<std::byte> block, float scale) {
  const std::uint16_t bits = nearest_f16(scale).bits;
  block[0] = static_cast<std::byte>(bits & 0xFF);
  block[1] = static_cast<std::byte>(bits >> 8);
}

F16 read_scale(std::span<const std::byte> block) {
  const int bits = std::to_integer<int>(block[0]) | std::to_integer<int>(block[1]) << 8;
  return {static_cast<std::uint16_t>(bits)};
}

/// The first number of largest magnitude, with its sign.
float extreme_of(Values values) {
  return *std::ranges::max_element(values, {}, [](float x) { return std::abs(x); });
}

/// 0 where it has none: such a scale is 0 as an F16, whatever the codes.
float inverse(float scale) {
  const float inverse = 1 / scale;
  return std::isfinite(inverse) ? inverse : 0;
}

void write_q8_codes(Values values, float scale, std::span<std::byte> codes) {
  const float factor = inverse(scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto code = static_cast<std::int8_t>(std::round(values[i] * factor));
    codes[i] = static_cast<std::byte>(code);
  }
}

std::uint8_t q4_code(float x, float factor) {
  // Half up, as ggml: the shift makes it positive, the conversion cuts off.
  return static_cast<std::uint8_t>(std::min(x * factor + (kQ4_zero + 0.5F), kMost_q4));
}

void write_q4_codes(Values values, float scale, std::span<std::byte> codes) {
  const float factor = inverse(scale);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int low = q4_code(values[i], factor);
    const int high = q4_code(values[i + codes.size()], factor);
    codes[i] = static_cast<std::byte>(low | high << 4);
  }
}

bool quantise_block(BlockFormat format, Values values, std::span<std::byte> block) {
  const float extreme = extreme_of(values);
  const float scale =
      format == BlockFormat::q8_0 ? std::abs(extreme) / kMost_q8 : extreme / -kQ4_zero;
  const bool finite = std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
  if (!finite || !std::isfinite(widened(nearest_f16(scale)))) {
    std::ranges::fill(block, std::byte{0});
    return false;
  }
  write_scale(block, scale);
  const std::span<std::byte> codes = block.subspan(kBlock_scale_bytes);
  format == BlockFormat::q8_0 ? write_q8_codes(values, scale, codes)
                              : write_q4_codes(values, scale, codes);
  return true;
}

void dequantise_block(BlockFormat format, std::span<const std::byte> block,
                      std::span<float> values) {
  const float scale = widened(read_scale(block));
  const std::span<const std::byte> codes = block.subspan(kBlock_scale_bytes);
  if (format == BlockFormat::q8_0) {
    std::ranges::transform(codes, values.begin(), [&](std::byte code) {
      return scale * static_cast<float>(static_cast<std::int8_t>(code));
    });
    return;
  }
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int both = std::to_integer<int>(codes[i]);
    values[i] = scale * (static_cast<float>(both & 0xF) - kQ4_zero);
    values[i + codes.size()] = scale * (static_cast<float>(both >> 4) - kQ4_zero);
  }
}

}  // namespace

bool quantise_row(BlockFormat format, std::span<const float> row, std::span<std::byte> blocks) {
  assert(is_whole_blocks(std::ssize(row)));
  assert(std::ssize(blocks) == block_row_bytes(format, std::ssize(row)));
  const auto size = static_cast<std::size_t>(block_bytes(format));
  bool held = true;
  for (std::size_t i = 0; i * kBlock_elements < row.size(); ++i) {
    const Values values = row.subspan(i * kBlock_elements).first<kBlock_elements>();
    held = quantise_block(format, values, blocks.subspan(i * size, size)) && held;
  }
  return held;
}

void dequantise_row(BlockFormat format, std::span<const std::byte> blocks, std::span<float> row) {
  assert(is_whole_blocks(std::ssize(row)));
  assert(std::ssize(blocks) == block_row_bytes(format, std::ssize(row)));
  const auto size = static_cast<std::size_t>(block_bytes(format));
  for (std::size_t i = 0; i * kBlock_elements < row.size(); ++i) {
    dequantise_block(format, blocks.subspan(i * size, size),
                     row.subspan(i * kBlock_elements, kBlock_elements));
  }
}

void split_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<std::byte> codes,
                  std::span<std::uint16_t> scales) {
  const auto size = static_cast<std::size_t>(block_bytes(format));
  const auto code_bytes = static_cast<std::size_t>(block_code_bytes(format));
  assert(blocks.size() == scales.size() * size && codes.size() == scales.size() * code_bytes);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const std::span<const std::byte> block = blocks.subspan(i * size, size);
    scales[i] = read_scale(block).bits;
    std::ranges::copy(block.subspan(kBlock_scale_bytes), codes.subspan(i * code_bytes).begin());
  }
}

bool has_finite_scales(BlockFormat format, std::span<const std::byte> blocks) {
  const auto size = static_cast<std::size_t>(block_bytes(format));
  assert(blocks.size() % size == 0);
  for (std::size_t at = 0; at < blocks.size(); at += size) {
    if (!std::isfinite(widened(read_scale(blocks.subspan(at, size))))) return false;
  }
  return true;
}

}  // namespace athanor
