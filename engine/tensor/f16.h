// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>

namespace athanor {

/// A number of IEEE 754's binary16: 1 sign, 5 exponent and 10 mantissa bits.
struct F16 {
  std::uint16_t bits = 0;
};

/// The largest finite one.
inline constexpr float kMost_f16 = 65504;

/// Exact; infinities and what is no number stay so.
constexpr float widened(F16 x) {
  constexpr std::uint32_t kRebias = (127 - 15) << 23;
  const std::uint32_t sign = (std::uint32_t{x.bits} & 0x8000U) << 16;
  const std::uint32_t magnitude = (std::uint32_t{x.bits} & 0x7FFFU) << 13;
  const std::uint32_t exponent = magnitude >> 23;
  if (exponent == 0) {
    const float value = static_cast<float>(x.bits & 0x3FF) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  const std::uint32_t top = exponent == 31 ? kRebias : 0;  // 255 is to become of 31
  return std::bit_cast<float>(sign | (magnitude + kRebias + top));
}

/// The nearest, of two equally near the even one; from half a step above the largest on infinity;
/// what is no number stays none.
constexpr F16 nearest_f16(float x) {
  constexpr std::uint32_t kInfinity = 0x7F800000;
  constexpr std::uint32_t kOverflow = 0x477FF000;      // 65520
  constexpr std::uint32_t kLeast_normal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kRebias = (127 - 15) << 23;
  constexpr float kHalf = 0.5F;  // beside which a float's last digit is 2^-24, a subnormal's step
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (magnitude > kInfinity) {
    half = 0x7E00U | (magnitude >> 13 & 0x3FFU);
  } else if (magnitude >= kOverflow) {
    half = 0x7C00;
  } else if (magnitude < kLeast_normal) {
    const float shifted = std::bit_cast<float>(magnitude) + kHalf;
    half = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kHalf);
  } else {
    half = (magnitude - kRebias + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  }
  return {static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | half)};
}

}  // namespace athanor
