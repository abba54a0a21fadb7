// SPDX-License-Identifier: GPL-3.0-or-later

/// RMSNorm of one row (Zhang & Sennrich 2019, arXiv:1910.07467), y = w · x / √(mean(x²) + ε), and
/// its backward direction; a row is a token's vector or one head of it. Compiled once for each
/// instruction set.
#if defined(ATHANOR_ROW_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_ROW_NORM_INL_H
#undef ATHANOR_ROW_NORM_INL_H
#else
#define ATHANOR_ROW_NORM_INL_H
#endif

#include <cmath>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

HWY_INLINE float reciprocal_rms(float sum_of_squares, std::int64_t width, float epsilon) {
  return 1.0F / std::sqrt(sum_of_squares / static_cast<float>(width) + epsilon);
}

template <class T, class W>
HWY_INLINE void scale_row(const T* x, float rstd, const W* weight, std::int64_t width, T* out) {
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const std::int64_t left = width - i;
    const FloatVector scaled = hn::Mul(load_up_to(x + i, left), set(rstd));
    store_up_to(hn::Mul(scaled, load_up_to(weight + i, left)), out + i, left);
  }
}

/// Gives keep(d_x, first element, elements left) each vector of
/// d_x = rstd · w · d_out − x · ⟨w · d_out, x⟩ · rstd³ / width, plus `d_other` unless null, and
/// adds the row's share to d_weight. What is kept may take d_out's place.
template <class T, class W, class Keep>
HWY_INLINE void row_norm_backward(const T* x, const W* weight, float rstd, std::int64_t width,
                                  const T* d_out, const T* d_other, float* d_weight,
                                  const Keep& keep) {
  FloatVector products = set(0);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const std::int64_t left = width - i;
    const FloatVector d_scaled = hn::Mul(load_up_to(d_out + i, left), load_up_to(x + i, left));
    products = hn::MulAdd(d_scaled, load_up_to(weight + i, left), products);
    const FloatVector old = load_up_to(d_weight + i, left);
    store_up_to(hn::MulAdd(d_scaled, set(rstd), old), d_weight + i, left);
  }
  const float along = sum_lanes(products) * rstd * rstd * rstd / static_cast<float>(width);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const std::int64_t left = width - i;
    const FloatVector d_normed = hn::Mul(load_up_to(d_out + i, left), load_up_to(weight + i, left));
    FloatVector d =
        hn::NegMulAdd(load_up_to(x + i, left), set(along), hn::Mul(d_normed, set(rstd)));
    if (d_other != nullptr) d = hn::Add(d, load_up_to(d_other + i, left));
    keep(d, i, left);
  }
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
