// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>

#include "engine/backend/cuda/random_words.h"
#include "engine/backend/cuda/rows.h"
#include "engine/backend/operations.h"

namespace athanor::cuda {

/// Dropout as kernels take it; the factors of elements follow from their numbers.
struct DropoutFactors {
  Philox words;
  std::uint32_t least_kept = 0;  ///< ⌈rate · 2³²⌉
  float scale = 1;

  explicit DropoutFactors(const Dropout& dropout)
      : words(dropout.seed, dropout.stream),
        least_kept(static_cast<std::uint32_t>(std::ceil(double{dropout.rate} * 0x1p32))),
        scale(1 / (1 - dropout.rate)) {}

  /// Multiplies elements first… of a tensor; with `kWhole`, `first` is a multiple of eight.
  template <bool kWhole>
  __device__ __forceinline__ void apply(Eight& eight, std::int64_t first) const {
    if (least_kept == 0) return;
    if constexpr (kWhole) {
      for (int half = 0; half < 2; ++half) {
        const Philox::Block block = words.block(static_cast<std::uint64_t>(first) / 4 + half);
        for (int i = 0; i < 4; ++i)
          eight.at[half * 4 + i] *= factor(block[i]);
      }
    } else {
      for (int i = 0; i < kEight; ++i) {
        eight.at[i] *= factor(word_at(words, static_cast<std::uint64_t>(first + i)));
      }
    }
  }

 private:
  __device__ __forceinline__ float factor(std::uint32_t word) const {
    return word >= least_kept ? scale : 0.0F;
  }
};

}  // namespace athanor::cuda
