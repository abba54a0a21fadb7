// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/tensor/f16.h"

namespace athanor {

/// Rows of numbers in blocks of 32 with one scale each: ggml's block_q8_0 and block_q4_0, the same
/// bytes as its quantize_row_q8_0_ref and quantize_row_q4_0_ref write, as found in GGUF files.
///
///   q8_0, 34 bytes: F16 scale, 32 signed codes. value = scale · code, scale = max|x| / 127
///   q4_0, 18 bytes: F16 scale, 16 bytes. value = scale · (code − 8), scale = x_max / −8, where
///         x_max is the x of largest magnitude, with its sign. The low half of byte i is the code
///         of element i, the high half that of element 16 + i
///
/// Numbers of two bytes are little-endian.
enum class BlockFormat { q8_0, q4_0 };
constexpr std::array<std::string_view, 2> names_of(BlockFormat) {
  return {"q8_0", "q4_0"};
}

inline constexpr std::int64_t kBlock_elements = 32;
inline constexpr std::int64_t kBlock_scale_bytes = 2;

constexpr std::int64_t block_code_bytes(BlockFormat format) {
  return format == BlockFormat::q8_0 ? kBlock_elements : kBlock_elements / 2;
}
constexpr std::int64_t block_bytes(BlockFormat format) {
  return kBlock_scale_bytes + block_code_bytes(format);
}
/// Whether a row of so many elements is whole blocks; other rows cannot be quantised.
constexpr bool is_whole_blocks(std::int64_t elements) {
  return elements >= 0 && elements % kBlock_elements == 0;
}
/// Of whole blocks.
constexpr std::int64_t block_row_bytes(BlockFormat format, std::int64_t elements) {
  return elements / kBlock_elements * block_bytes(format);
}

/// One row, or rows end to end, since a row is whole blocks: `blocks` has
/// block_row_bytes(row.size()) bytes. False when a block has a number that is not finite or so
/// large that its scale is not; such a block is all zeros then.
[[nodiscard]] bool quantise_row(BlockFormat format, std::span<const float> row,
                                std::span<std::byte> blocks);

/// The way back, exact in FP32. Any bytes are valid: a scale that is not finite gives numbers that
/// are not.
void dequantise_row(BlockFormat format, std::span<const std::byte> blocks, std::span<float> row);

/// Takes blocks apart: their codes one after the other, and the bits of their scales.
void split_blocks(BlockFormat format, std::span<const std::byte> blocks, std::span<std::byte> codes,
                  std::span<std::uint16_t> scales);

/// Whether all scales are finite: what a file promises, and what is to be known before computing.
[[nodiscard]] bool has_finite_scales(BlockFormat format, std::span<const std::byte> blocks);

}  // namespace athanor
