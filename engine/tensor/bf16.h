// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>

namespace athanor {

/// The number behind the bits of a bf16, which are the upper half of an f32's.
constexpr float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The nearest bf16, of two equally near ones the even. NaN stays NaN.
constexpr std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

/// The nearest bf16, of two equally near ones the larger in magnitude: then the lower half of the
/// f32's bits tells how it was rounded, and the two together give the number back.
constexpr std::uint16_t to_bf16_away(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x8000U) >> 16);
}
constexpr std::uint16_t low_bits_of(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value));
}

}  // namespace athanor
