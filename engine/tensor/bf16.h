// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>

namespace athanor {

/// An element of a DType::bf16 tensor: the upper half of an f32's bits.
struct Bf16 {
  std::uint16_t bits = 0;
};

constexpr float widened(Bf16 x) {
  return std::bit_cast<float>(std::uint32_t{x.bits} << 16);
}

/// The nearest, of two equally near the even one; what is no number stays none.
constexpr Bf16 nearest_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  constexpr std::uint32_t kQuiet = 0x40;
  const std::uint32_t upper = bits >> 16;
  if (x != x) return {static_cast<std::uint16_t>(upper | kQuiet)};
  return {static_cast<std::uint16_t>((bits + 0x7FFF + (upper & 1)) >> 16)};
}

/// The nearest, of two equally near the larger in magnitude: then the lower half of x's bits tells
/// which way it went, and the two together give x back.
constexpr Bf16 nearest_bf16_away(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return nearest_bf16(x);
  return {static_cast<std::uint16_t>((bits + 0x8000) >> 16)};
}
constexpr std::uint16_t low_bits_of(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x));
}

}  // namespace athanor
