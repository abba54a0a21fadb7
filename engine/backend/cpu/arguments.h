// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <initializer_list>

#include "engine/backend/operations.h"

/// What the backend asserts of the arguments of operations.
namespace athanor {

/// Heads that attention's scratch has room for.
inline constexpr std::int64_t kMaxHeadDim = 256;

inline bool is(const Tensor& tensor, Shape shape, DType dtype = DType::f32) {
  return tensor.data != nullptr && tensor.dtype == dtype && tensor.shape == shape;
}

/// Whether it is there as f32 or bf16: a row of values per token, a weight or its gradient.
inline bool real(const Tensor& tensor, Shape shape) {
  return is(tensor, shape) || is(tensor, shape, DType::bf16);
}

inline bool absent_or_real(const Tensor& tensor, Shape shape) {
  return !tensor.present() || real(tensor, shape);
}

/// Whether all that are present have one type: kernels read rows of values, weights and gradients
/// of weights as one type each.
inline bool alike(std::initializer_list<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* tensor : tensors) {
    if (!tensor->present()) continue;
    if (first == nullptr) first = tensor;
    if (tensor->dtype != first->dtype) return false;
  }
  return true;
}

inline bool usable(const AttentionShape& shape) {
  return shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && shape.head_dim > 0 &&
         shape.head_dim % 2 == 0 && shape.head_dim <= kMaxHeadDim;
}

/// Weights in bf16 are rounded from one of the two, or at random; others need neither.
inline bool usable(const StoredWeights& to, std::int64_t count) {
  const bool low_bits = to.low_bits.present();
  return to.weights.elements() == count &&
         (!to.master.present() ||
          (to.master.elements() == count && to.master.dtype == DType::f32 && !low_bits)) &&
         (!low_bits || (to.low_bits.elements() == count && to.low_bits.dtype == DType::u16)) &&
         (to.weights.dtype == DType::bf16 ||
          (to.weights.dtype == DType::f32 && !low_bits && !to.master.present()));
}

}  // namespace athanor
