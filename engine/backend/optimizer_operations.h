// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

/// The steps of optimizers, in the terms of operations.h; P is the numbers of what a step changes.
namespace athanor {

/// For weights rounded at random: element i takes word i of Philox(seed, stream).
struct WeightRounding {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

/// How far a step goes; common to all kinds of AdamW.
struct AdamWStep {
  float learning_rate = 0;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float decay = 0;
  float gradient_scale = 1;
  std::int64_t step = 1;  ///< counts from 1
  WeightRounding rounding;
};

/// The weights a step changes. In bf16 they are a rounding of the number that a step goes on from:
/// with `master` or `low_bits` its nearest bf16, halves away from zero, and both give the same
/// bits; with neither there is no such number, and the result is rounded at random, up with the
/// probability of what is cut off (Gupta et al., 2015).
struct StoredWeights {
  Tensor weights;   ///< [P]
  Tensor master;    ///< [P] in the compute type, optional
  Tensor low_bits;  ///< u16 [P], optional: the lower half of the number's bits
};

/// AdamW with decoupled decay (Loshchilov and Hutter, 2017), gradients multiplied by
/// gradient_scale: w ← w − rate·decay·w, then w ← w − rate · m̂ / (√v̂ + ε).
struct AdamW {
  StoredWeights to;
  Tensor gradients;  ///< [P]
  Tensor m;          ///< [P]
  Tensor v;          ///< [P]
  AdamWStep at;
};

/// Elements that share one scale.
inline constexpr std::int64_t kMomentBlock = 256;
constexpr std::int64_t moment_blocks(std::int64_t elements) {
  return (elements + kMomentBlock - 1) / kMomentBlock;
}

/// AdamW that keeps each moment as a code and a scale (moment_codes.h; after Dettmers et al.,
/// 2021). It computes in the real type and rounds what it keeps to the nearest code, but a v above
/// 0 never to 0. Scales of 0 are moments of 0, whatever the codes.
struct AdamW8 {
  StoredWeights to;
  Tensor gradients;  ///< [P]
  Tensor m;          ///< u8 [P]
  Tensor v;          ///< u8 [P]
  Tensor m_scale;    ///< [moment_blocks(P)], the block's largest |m|
  Tensor v_scale;    ///< [moment_blocks(P)], the block's largest v
  AdamWStep at;
};

struct MuonStep {
  float learning_rate = 0;
  float momentum = 0.95F;
  float decay = 0;
  float gradient_scale = 1;
  WeightRounding rounding;
};

/// Muon of one matrix (Jordan et al., 2024), with s = min(r, c). With g the gradients multiplied by
/// gradient_scale: M ← momentum·M + g, X = u / (‖u‖ + 10⁻⁷) of u = g + momentum·M; five times, on
/// the smaller side, X ← aX + (bA + cA²)X with A = XXᵀ, which brings all singular values near 1;
/// then w ← w − rate·decay·w − rate·0.2·√max(r, c)·X. The last factor makes steps as large as
/// AdamW's (Liu et al., 2025). What the iterations work on may be bf16 and has one type.
struct Muon {
  StoredWeights to;   ///< r·c weights, by rows
  Tensor gradients;   ///< [r, c]
  Tensor momentum;    ///< [r, c]
  Tensor x;           ///< [r, c] scratch
  Tensor next;        ///< [r, c] scratch
  Tensor gram;        ///< [s, s] scratch
  Tensor polynomial;  ///< [s, s] scratch
  MuonStep at;
};

}  // namespace athanor
