// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"
#include "engine/backend/with_activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/activation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// A function and its slope at x.
struct Value {
  FloatVector value;
  FloatVector slope;
};

HWY_INLINE Value silu(FloatVector x) {
  const FloatVector s = sigmoid(x);
  const FloatVector value = hn::Mul(x, s);
  return {value, hn::MulAdd(value, hn::Sub(set(1), s), s)};
}

/// x/2 · (1 + tanh u) = x · sigmoid(2u) with 2u = x · (a + b x²).
HWY_INLINE Value gelu(FloatVector x) {
  constexpr float kA = 1.59576912F;   // 2 √(2/π)
  constexpr float kB = 0.071354816F;  // kA · 0.044715
  const FloatVector square = hn::Mul(x, x);
  const FloatVector s = sigmoid(hn::Mul(x, hn::MulAdd(square, set(kB), set(kA))));
  const FloatVector value = hn::Mul(x, s);
  const FloatVector inner = hn::MulAdd(square, set(3 * kB), set(kA));
  return {value, hn::MulAdd(hn::Mul(value, hn::Sub(set(1), s)), inner, s)};
}

HWY_INLINE Value relu2(FloatVector x) {
  const FloatVector positive = hn::IfThenElse(hn::Lt(x, set(0)), set(0), x);
  return {hn::Mul(positive, positive), hn::Add(positive, positive)};
}

template <Activation kActivation>
HWY_INLINE Value evaluate(FloatVector x) {
  if constexpr (kActivation == Activation::gelu) return gelu(x);
  if constexpr (kActivation == Activation::relu2) return relu2(x);
  return silu(x);
}

template <Activation kActivation, class T>
void forward_row(const T* pre, std::int64_t width, T* out) {
  for (std::int64_t i = 0; i < width; i += kLanes) {
    FloatVector value = evaluate<kActivation>(load_up_to(pre + i, width - i)).value;
    if constexpr (kActivation == Activation::swiglu) {
      value = hn::Mul(value, load_up_to(pre + width + i, width - i));
    }
    store_up_to(value, out + i, width - i);
  }
}

template <Activation kActivation, class T>
void backward_row(const T* pre, const T* d_out, std::int64_t width, T* d_pre) {
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const std::int64_t left = width - i;
    const Value at = evaluate<kActivation>(load_up_to(pre + i, left));
    const FloatVector d = load_up_to(d_out + i, left);
    FloatVector d_value = d;
    if constexpr (kActivation == Activation::swiglu) {
      d_value = hn::Mul(d, load_up_to(pre + width + i, left));
      store_up_to(hn::Mul(d, at.value), d_pre + width + i, left);
    }
    store_up_to(hn::Mul(d_value, at.slope), d_pre + i, left);
  }
}

constexpr std::int64_t kRows = 16;

template <class T>
void forward_all(Context& context, const MlpActivation& op) {
  const std::int64_t rows = op.out.rows();
  const std::int64_t width = op.out.shape[1];
  const std::int64_t pre_width = op.pre.shape[1];
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    with_activation(op.activation, [&](auto activation) HWY_ATTR {
      for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
        forward_row<activation>(op.pre.as<T>() + row * pre_width, width,
                                op.out.as<T>() + row * width);
      }
    });
  });
}

template <class T>
void backward_all(Context& context, const MlpActivationBackward& op) {
  const std::int64_t rows = op.d_out.rows();
  const std::int64_t width = op.d_out.shape[1];
  const std::int64_t pre_width = op.pre.shape[1];
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    with_activation(op.activation, [&](auto activation) HWY_ATTR {
      for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
        backward_row<activation>(op.pre.as<T>() + row * pre_width, op.d_out.as<T>() + row * width,
                                 width, op.d_pre.as<T>() + row * pre_width);
      }
    });
  });
}

}  // namespace

void mlp_activation_for_target(Context& context, const MlpActivation& op) {
  op.pre.dtype == DType::bf16 ? forward_all<Bf16>(context, op) : forward_all<float>(context, op);
}

void mlp_activation_backward_for_target(Context& context, const MlpActivationBackward& op) {
  op.pre.dtype == DType::bf16 ? backward_all<Bf16>(context, op) : backward_all<float>(context, op);
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(mlp_activation_for_target);
HWY_EXPORT(mlp_activation_backward_for_target);

void mlp_activation(Context& context, const MlpActivation& op) {
  HWY_DYNAMIC_DISPATCH(mlp_activation_for_target)(context, op);
}

void mlp_activation_backward(Context& context, const MlpActivationBackward& op) {
  HWY_DYNAMIC_DISPATCH(mlp_activation_backward_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
