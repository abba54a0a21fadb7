// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace athanor {

/// How files of models store numbers: single ones, or blocks of 32 or 256 codes with scales as ggml
/// lays them out (ggml-common.h, block_q4_0 … block_q6_K). All little-endian.
enum class NumberFormat {
  f32,
  f16,
  bf16,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
};
inline constexpr int kNumberFormats = 13;
constexpr std::array<std::string_view, kNumberFormats> names_of(NumberFormat) {
  return {"f32",  "f16",  "bf16", "q4_0", "q4_1", "q5_0", "q5_1",
          "q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k"};
}
constexpr std::string_view name_of(NumberFormat format) {
  return names_of(format)[static_cast<std::size_t>(format)];
}

/// Numbers that share a block; 1 where each stands alone.
constexpr std::int64_t elements_per_block(NumberFormat format) {
  if (format <= NumberFormat::bf16) return 1;
  return format <= NumberFormat::q8_0 ? 32 : 256;
}

constexpr std::int64_t bytes_per_block(NumberFormat format) {
  constexpr std::array<std::int64_t, kNumberFormats> kBytes = {4,  2,  2,   18,  20,  22, 24,
                                                               34, 84, 110, 144, 176, 210};
  return kBytes[static_cast<std::size_t>(format)];
}

/// Bytes of a row of whole blocks.
constexpr std::int64_t row_bytes(NumberFormat format, std::int64_t elements) {
  return elements / elements_per_block(format) * bytes_per_block(format);
}

/// Whole blocks as FP32: `stored` has row_bytes(format, numbers.size()) bytes. Exact where a number
/// stands alone; of blocks as ggml computes it, rounded after each operation. Any bytes are valid;
/// scales that are no numbers give numbers that are none.
void widen(NumberFormat format, std::span<const std::byte> stored, std::span<float> numbers);

/// The way back, of f32, f16, bf16, q8_0 and q4_0: the nearest that can be stored. False when a
/// number is not finite or beyond the format's range; `stored` is undefined then.
[[nodiscard]] bool narrow(NumberFormat format, std::span<const float> numbers,
                          std::span<std::byte> stored);

}  // namespace athanor
