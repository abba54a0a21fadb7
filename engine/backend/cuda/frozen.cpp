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

void lora(Stream stream, Products& products, const Lora& op) {
  [[maybe_unused]] const std::int64_t rank = op.h.row_elements();
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}) && rows(op.y, {op.x.rows(), op.y.shape[1]}));
  assert(rows(op.a, {rank, op.x.shape[1]}) && rows(op.b, {op.y.shape[1], rank}));
  assert(rows(op.h, {op.x.rows(), rank}) && absent_or_rows(op.dropped, op.x.shape));
  const bool drops = op.dropout.rate > 0;
  if (drops) drop(stream, op.dropout, op.x, op.dropped);
  products.multiply({.a = drops ? op.dropped : op.x,
                     .b = op.a,
                     .b_transposed = true,
                     .factor = op.scale,
                     .to = op.h});
  products.multiply(
      {.a = op.h, .b = op.b, .b_transposed = true, .addend = op.y, .kept = 1, .to = op.y});
}

void lora_backward(Stream stream, Products& products, const LoraBackward& op) {
  [[maybe_unused]] const std::int64_t rank = op.h.row_elements();
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}) && rows(op.d_y, {op.x.rows(), op.d_y.shape[1]}));
  assert(rows(op.a, {rank, op.x.shape[1]}) && rows(op.b, {op.d_y.shape[1], rank}));
  assert(rows(op.h, {op.x.rows(), rank}) && rows(op.d_h, op.h.shape));
  assert(gradient(op.d_a, op.a.shape) && gradient(op.d_b, op.b.shape));
  assert(absent_or_rows(op.dropped, op.x.shape) && absent_or_rows(op.d_x, op.x.shape));
  const bool drops = op.dropout.rate > 0;
  products.multiply({.a = op.d_y, .b = op.b, .factor = op.scale, .to = op.d_h});
  products.multiply(
      {.a = op.d_y, .b = op.h, .a_transposed = true, .addend = op.d_b, .kept = 1, .to = op.d_b});
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
