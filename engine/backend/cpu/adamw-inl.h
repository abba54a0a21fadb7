// SPDX-License-Identifier: GPL-3.0-or-later

/// One AdamW update of a vector of elements, whatever its moments are kept as. Compiled once for
/// each instruction set.
#if defined(ATHANOR_ADAMW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_ADAMW_INL_H
#undef ATHANOR_ADAMW_INL_H
#else
#define ATHANOR_ADAMW_INL_H
#endif

#include <cmath>

#include "engine/backend/cpu/vectors-inl.h"
#include "engine/backend/operations.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

/// What one update multiplies with, the same for all elements.
struct AdamWFactors {
  float keep;     ///< 1 − rate · decay
  float rate;     ///< learning rate / bias correction of m
  float v_scale;  ///< 1 / bias correction of v
  float gradient;
  float beta1;
  float beta2;
  float epsilon;
};

inline AdamWFactors adamw_factors(const AdamWStep& at) {
  const auto step = static_cast<double>(at.step);
  const double m_correction = 1 - std::pow(static_cast<double>(at.beta1), step);
  const double v_correction = 1 - std::pow(static_cast<double>(at.beta2), step);
  return {.keep = static_cast<float>(1 - static_cast<double>(at.learning_rate) * at.decay),
          .rate = static_cast<float>(at.learning_rate / m_correction),
          .v_scale = static_cast<float>(1 / v_correction),
          .gradient = at.gradient_scale,
          .beta1 = at.beta1,
          .beta2 = at.beta2,
          .epsilon = at.epsilon};
}

/// `weight`, `m` and `v` become what they are after the step.
HWY_INLINE void adamw_step(const AdamWFactors& f, FloatVector gradient, FloatVector& weight,
                           FloatVector& m, FloatVector& v) {
  const FloatVector g = hn::Mul(gradient, set(f.gradient));
  m = hn::MulAdd(set(f.beta1), m, hn::Mul(set(1 - f.beta1), g));
  v = hn::MulAdd(set(f.beta2), v, hn::Mul(hn::Mul(set(1 - f.beta2), g), g));
  const FloatVector denominator = hn::Add(hn::Sqrt(hn::Mul(v, set(f.v_scale))), set(f.epsilon));
  const FloatVector decayed = hn::Mul(weight, set(f.keep));
  weight = hn::Sub(decayed, hn::Div(hn::Mul(m, set(f.rate)), denominator));
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
