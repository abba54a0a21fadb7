// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/adamw_factors.h"
#include "engine/backend/cuda/rows.h"
#include "engine/backend/operations.h"
#include "engine/base/philox.h"

/// What optimizers share on a card: how weights are kept, and AdamW's step itself.
namespace athanor::cuda {

/// What a weight is kept as (StoredWeights).
enum class Keeping { f32, master, low_bits, random };

inline Keeping keeping_of(const StoredWeights& to) {
  if (to.weights.dtype == DType::f32) return Keeping::f32;
  if (to.master.present()) return Keeping::master;
  return to.low_bits.present() ? Keeping::low_bits : Keeping::random;
}

/// StoredWeights and WeightRounding as kernels take them.
struct WeightPlaces {
  float* numbers = nullptr;  ///< f32 weights, or the master of others
  Bf16* weights = nullptr;
  std::uint16_t* low_bits = nullptr;
  Philox rounding;

  WeightPlaces(const StoredWeights& to, const WeightRounding& at) : rounding(at.seed, at.stream) {
    if (to.weights.dtype == DType::f32) {
      numbers = to.weights.as<float>();
    } else {
      weights = to.weights.as<Bf16>();
      if (to.master.present()) numbers = to.master.as<float>();
      if (to.low_bits.present()) low_bits = to.low_bits.as<std::uint16_t>();
    }
  }
};

/// The nearest bf16, halves away from zero; what is no number stays none.
__device__ __forceinline__ Bf16 to_bf16_away(float x) {
  return x == x ? Bf16{static_cast<std::uint16_t>((__float_as_uint(x) + 0x8000U) >> 16)}
                : to_bf16(x);
}

/// Element i of the numbers that AdamW goes on from.
template <Keeping kKeeping>
__device__ __forceinline__ float number_at(const WeightPlaces& places, std::int64_t i) {
  if constexpr (kKeeping == Keeping::f32 || kKeeping == Keeping::master) {
    return places.numbers[i];
  } else if constexpr (kKeeping == Keeping::random) {
    return to_float(places.weights[i]);
  } else {
    const std::uint32_t low = places.low_bits[i];
    const std::uint32_t upper = places.weights[i].bits - (low >> 15);
    return __uint_as_float(upper << 16 | low);
  }
}

/// `word` is element i's of the stream that rounds at random.
template <Keeping kKeeping>
__device__ __forceinline__ void keep_number(const WeightPlaces& places, std::int64_t i, float x,
                                            std::uint32_t word) {
  if constexpr (kKeeping == Keeping::f32 || kKeeping == Keeping::master) {
    places.numbers[i] = x;
  }
  if constexpr (kKeeping == Keeping::master || kKeeping == Keeping::low_bits) {
    places.weights[i] = to_bf16_away(x);
  }
  if constexpr (kKeeping == Keeping::low_bits) {
    // What is no number was not rounded, so nothing may say that it was.
    places.low_bits[i] = x == x ? static_cast<std::uint16_t>(__float_as_uint(x)) : 0;
  }
  if constexpr (kKeeping == Keeping::random) {
    const std::uint32_t bits = __float_as_uint(x);
    const std::uint32_t up = (bits & 0x7F800000U) == 0x7F800000U ? 0 : word & 0xFFFFU;
    places.weights[i] = x == x ? Bf16{static_cast<std::uint16_t>((bits + up) >> 16)} : to_bf16(x);
  }
}

/// `weight`, `m` and `v` become what they are after the step.
__device__ __forceinline__ void adamw_step(const AdamWFactors& f, float d_weight, float& weight,
                                           float& m, float& v) {
  const float g = d_weight * f.gradient;
  m = fmaf(f.beta1, m, (1 - f.beta1) * g);
  v = fmaf(f.beta2, v, (1 - f.beta2) * g * g);
  const float denominator = sqrtf(v * f.v_scale) + f.epsilon;
  weight = weight * f.keep - m * f.rate / denominator;
}

__device__ __forceinline__ float as_float(float x) {
  return x;
}
__device__ __forceinline__ float as_float(Bf16 x) {
  return to_float(x);
}

/// Calls body(constant) with the keeping as a constant.
template <class Body>
void with_keeping(const StoredWeights& to, const Body& body) {
  switch (keeping_of(to)) {
    case Keeping::f32:
      return body(std::integral_constant<Keeping, Keeping::f32>());
    case Keeping::master:
      return body(std::integral_constant<Keeping, Keeping::master>());
    case Keeping::low_bits:
      return body(std::integral_constant<Keeping, Keeping::low_bits>());
    case Keeping::random:
      return body(std::integral_constant<Keeping, Keeping::random>());
  }
}

}  // namespace athanor::cuda
