// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace athanor::cuda {

inline float to_float(Bf16 x) {
  return widened(x);
}

inline float to_float(F16 x) {
  return widened(x);
}

inline Bf16 to_bf16(float x) {
  // What a card makes of whatever is no number.
  constexpr std::uint16_t kNot_a_number = 0x7FFF;
  return std::isnan(x) ? Bf16{kNot_a_number} : nearest_bf16(x);
}

inline std::uint32_t pack_bf16(float low, float high) {
  return std::uint32_t{to_bf16(low).bits} | std::uint32_t{to_bf16(high).bits} << 16;
}

inline std::uint8_t to_e4m3(float x) {
  constexpr std::uint32_t kNot_a_number = 0x7F;
  constexpr std::uint32_t kLargest = 0x7E;
  constexpr float kLeast_normal = 0x1p-6F;
  constexpr float kSubnormals_per_one = 0x1p9F;
  constexpr int kDropped_bits = 23 - 3;
  constexpr std::uint32_t kBias_difference = (127 - 7) << 3;
  if (std::isnan(x)) return kNot_a_number;
  const std::uint32_t sign = std::signbit(x) ? 0x80 : 0;
  const float magnitude = std::fabs(x);
  if (magnitude < kLeast_normal) {
    // The code after the last subnormal is the least normal number's, so rounding up to it is
    // right.
    return static_cast<std::uint8_t>(
        sign | static_cast<std::uint32_t>(std::nearbyint(magnitude * kSubnormals_per_one)));
  }
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t even = bits >> kDropped_bits & 1;
  const std::uint32_t rounded = bits + (1U << (kDropped_bits - 1)) - 1 + even;
  const std::uint32_t code = (rounded >> kDropped_bits) - kBias_difference;
  return static_cast<std::uint8_t>(sign | (code > kLargest ? kLargest : code));
}

}  // namespace athanor::cuda
