// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/operations.h"

/// What the backend asserts of the arguments of operations.
namespace athanor::cuda {

inline bool is(const Tensor& tensor, Shape shape, DType dtype) {
  return tensor.data != nullptr && tensor.dtype == dtype && tensor.shape == shape;
}

inline bool rows(const Tensor& tensor, Shape shape) {
  return is(tensor, shape, DType::bf16);
}

inline bool absent_or_rows(const Tensor& tensor, Shape shape) {
  return !tensor.present() || rows(tensor, shape);
}

inline bool gradient(const Tensor& tensor, Shape shape) {
  return is(tensor, shape, DType::bf16) || is(tensor, shape, DType::f32);
}

inline bool absent_or_gradient(const Tensor& tensor, Shape shape) {
  return !tensor.present() || gradient(tensor, shape);
}

inline bool integers(const Tensor& tensor, std::int64_t count) {
  return tensor.dtype == DType::i32 && tensor.elements() == count;
}

inline bool absent_or_number(const Tensor& tensor) {
  return !tensor.present() || is(tensor, {1}, DType::f32);
}

inline bool absent_or_codes(const Tensor& tensor, Shape shape) {
  return !tensor.present() || is(tensor, shape, DType::u8);
}

inline bool fp8(const Fp8& matrix, std::int64_t rows, std::int64_t columns) {
  constexpr std::uintptr_t kAlignment = 16;
  const auto aligned = [](const Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) % kAlignment == 0;
  };
  return is(matrix.codes, {rows, columns}, DType::u8) && is(matrix.scale, {1}, DType::f32) &&
         aligned(matrix.codes) && aligned(matrix.scale);
}

inline bool usable(const AttentionShape& shape) {
  return shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0;
}

}  // namespace athanor::cuda
