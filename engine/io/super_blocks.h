// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstring>

#include "engine/tensor/f16.h"

namespace athanor {

inline float half_at(const std::byte* place) {
  F16 half;
  std::memcpy(&half.bits, place, sizeof half.bits);
  return widened(half);
}

/// One block of 256 numbers each, of bytes_per_block(format) bytes, in ggml's layout: codes of 2 to
/// 6 bits, a scale for every 16 or 32 of them as a small code of its own, and F16 scales of those.
void widen_q2_k(const std::byte* block, float* numbers);
void widen_q3_k(const std::byte* block, float* numbers);
void widen_q4_k(const std::byte* block, float* numbers);
void widen_q5_k(const std::byte* block, float* numbers);
void widen_q6_k(const std::byte* block, float* numbers);

}  // namespace athanor
