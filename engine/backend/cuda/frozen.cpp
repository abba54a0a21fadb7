// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/frozen.h"

#include "engine/backend/cuda/arguments.h"
#include "engine/backend/cuda/kernels.h"

namespace athanor::cuda {

void quantised_linear(Stream stream, Products& products, const QuantisedLinear& op) {
  const std::int64_t in = op.x.row_elements();
  const std::int64_t out = op.weight.rows();
  assert(rows(op.x, {op.x.rows(), in}) && gradient(op.y, {op.x.rows(), out}));
  assert(op.weight.has_rows_of(in) && absent_or_rows(op.bias, {out}));
  if (op.x.rows() <= kFewQuantisedRows) {
    quantised_rows(stream, op);
    return;
  }
  const Tensor widened{op.scratch.data, DType::bf16, {out, in}};
  assert(op.scratch.bytes() >= widened.bytes());
  widen(stream, op.weight, widened);
  products.linear({.x = op.x, .weight = widened, .bias = op.bias, .y = op.y});
}

void quantised_linear_backward(Stream stream, Products& products,
                               const QuantisedLinearBackward& op) {
  const std::int64_t in = op.weight.row_elements();
  const std::int64_t out = op.weight.rows();
  assert(rows(op.d_y, {op.d_x.rows(), out}) && rows(op.d_x, {op.d_y.rows(), in}));
  assert(op.weight.has_rows_of(in));
  const Tensor widened{op.scratch.data, DType::bf16, {out, in}};
  assert(op.scratch.bytes() >= widened.bytes());
  widen(stream, op.weight, widened);
  products.multiply({.a = op.d_y, .b = widened, .to = op.d_x});
}

namespace {

/// The columns of a product that one of its stacked matrices makes.
Tensor columns_of(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  assert(first + count <= matrix.row_elements());
  return {matrix.data + first * size_of(matrix.dtype), matrix.dtype, {matrix.rows(), count}};
}

}  // namespace

void lora(Stream stream, Products& products, const Lora& op) {
  [[maybe_unused]] const std::int64_t rank = op.h.row_elements();
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}) && rows(op.a, {rank, op.x.shape[1]}));
  assert(rows(op.b, {op.b.rows(), rank}) && absent_or_rows(op.y, {op.x.rows(), op.y.shape[1]}));
  assert(rows(op.h, {op.x.rows(), rank}) && absent_or_rows(op.dropped, op.x.shape));
  const bool drops = op.dropout.rate > 0;
  if (drops) drop(stream, op.dropout, op.x, op.dropped);
  products.multiply({.a = drops ? op.dropped : op.x,
                     .b = op.a,
                     .b_transposed = true,
                     .factor = op.scale,
                     .to = op.h});
  if (!op.y.present()) return;
  const Tensor y = columns_of(op.y, op.first_column, op.b.rows());
  products.multiply({.a = op.h,
                     .b = op.b,
                     .b_transposed = true,
                     .addend = y,
                     .kept = 1,
                     .to = y,
                     .to_stride = op.y.row_elements()});
}

void lora_backward(Stream stream, Products& products, const LoraBackward& op) {
  [[maybe_unused]] const std::int64_t rank = op.h.row_elements();
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}) && rows(op.d_y, {op.x.rows(), op.d_y.shape[1]}));
  assert(rows(op.a, {rank, op.x.shape[1]}) && rows(op.b, {op.b.rows(), rank}));
  assert(rows(op.h, {op.x.rows(), rank}) && rows(op.d_h, op.h.shape));
  assert(gradient(op.d_a, op.a.shape) && gradient(op.d_b, op.b.shape));
  assert(absent_or_rows(op.dropped, op.x.shape) && absent_or_rows(op.d_x, op.x.shape));
  const bool drops = op.dropout.rate > 0;
  const Tensor d_y = columns_of(op.d_y, op.first_column, op.b.rows());
  const std::int64_t stride = op.d_y.row_elements();
  products.multiply({.a = d_y, .a_stride = stride, .b = op.b, .factor = op.scale, .to = op.d_h});
  products.multiply({.a = d_y,
                     .a_stride = stride,
                     .b = op.h,
                     .a_transposed = true,
                     .addend = op.d_b,
                     .kept = 1,
                     .to = op.d_b});
  if (drops) drop(stream, op.dropout, op.x, op.dropped);
  products.multiply({.a = op.d_h,
                     .b = drops ? op.dropped : op.x,
                     .a_transposed = true,
                     .addend = op.d_a,
                     .kept = 1,
                     .to = op.d_a});
  if (!op.d_x.present()) return;
  if (drops) {
    products.multiply({.a = op.d_h, .b = op.a, .to = op.dropped});
    add_dropped(stream, op.dropout, op.dropped, op.d_x);
  } else {
    products.multiply({.a = op.d_h, .b = op.a, .addend = op.d_x, .kept = 1, .to = op.d_x});
  }
}

}  // namespace athanor::cuda
