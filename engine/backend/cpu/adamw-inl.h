// SPDX-License-Identifier: GPL-3.0-or-later

/// One AdamW update of a vector of elements, whatever its moments are kept as. Compiled once for
/// each instruction set.
#if defined(ATHANOR_ADAMW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_ADAMW_INL_H
#undef ATHANOR_ADAMW_INL_H
#else
#define ATHANOR_ADAMW_INL_H
#endif

#include "engine/backend/adamw_factors.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

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
