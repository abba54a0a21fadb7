// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cassert>

#include "engine/backend/operations.h"

/// What assertions say of arguments.
namespace athanor::cuda {

[[maybe_unused]] inline bool is(const Tensor& tensor, Shape shape, DType dtype) {
  return tensor.data != nullptr && tensor.dtype == dtype && tensor.shape == shape;
}
[[maybe_unused]] inline bool rows(const Tensor& tensor, Shape shape) {
  return is(tensor, shape, DType::bf16);
}
[[maybe_unused]] inline bool absent_or_rows(const Tensor& tensor, Shape shape) {
  return !tensor.present() || rows(tensor, shape);
}
[[maybe_unused]] inline bool gradient(const Tensor& tensor, Shape shape) {
  return is(tensor, shape, DType::bf16) || is(tensor, shape, DType::f32);
}
[[maybe_unused]] inline bool integers(const Tensor& tensor, std::int64_t count) {
  return tensor.dtype == DType::i32 && tensor.elements() == count;
}
[[maybe_unused]] inline bool usable(const AttentionShape& shape) {
  return shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0;
}
[[maybe_unused]] inline bool usable(const QuantisedMatrix& matrix, std::int64_t width) {
  const std::int64_t blocks = width / kBlock_elements;
  return is_whole_blocks(width) &&
         is(matrix.codes, {matrix.rows(), blocks * block_code_bytes(matrix.format)}, DType::u8) &&
         is(matrix.scales, {matrix.rows(), blocks}, DType::u16);
}

}  // namespace athanor::cuda
