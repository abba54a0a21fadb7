// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>

#include "engine/backend/cuda/random_words.h"
#include "engine/backend/cuda/rows.h"
#include "engine/backend/operations.h"

namespace athanor::cuda {

/// The factors of a tensor's elements, which follow from their numbers.
struct DropoutFactors {
  Philox words;
  std::uint32_t least_kept = 0;  ///< ⌈rate · 2³²⌉
  float scale = 1;

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

/// Dropout as kernels take it: what is recorded keeps it, so the stream's base is read in the
/// kernel.
struct DropoutArguments {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  const std::uint32_t* stream_base = nullptr;  ///< two words, the lower first; null: 0
  std::uint32_t least_kept = 0;
  float scale = 1;

  explicit DropoutArguments(const Dropout& dropout)
      : seed(dropout.seed),
        stream(dropout.stream),
        stream_base(dropout.stream_base.present() ? dropout.stream_base.as<std::uint32_t>()
                                                  : nullptr),
        least_kept(static_cast<std::uint32_t>(std::ceil(double{dropout.rate} * 0x1p32))),
        scale(1 / (1 - dropout.rate)) {}

  __device__ __forceinline__ DropoutFactors factors() const {
    std::uint64_t base = 0;
    if (least_kept != 0 && stream_base != nullptr)
      base = stream_base[0] + (std::uint64_t{stream_base[1]} << 32);
    return {Philox(seed, stream + base), least_kept, scale};
  }
};

}  // namespace athanor::cuda
