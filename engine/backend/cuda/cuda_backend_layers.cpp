// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cuda/arguments.h"
#include "engine/backend/cuda/cuda_backend_class.h"
#include "engine/backend/cuda/frozen.h"
#include "engine/backend/cuda/kernels.h"

namespace athanor::cuda {

void CudaBackend::run(const Embedding& op) {
  assert(rows(op.table, {op.table.rows(), op.out.shape[1]}));
  assert(rows(op.out, {op.tokens.elements(), op.out.shape[1]}));
  assert(integers(op.tokens, op.out.rows()));
  use({&op.table, &op.tokens, &op.out});
  embedding(stream(), op);
}

void CudaBackend::run(const EmbeddingBackward& op) {
  assert(gradient(op.d_table, {op.d_table.rows(), op.d_out.shape[1]}));
  assert(rows(op.d_out, {op.tokens.elements(), op.d_out.shape[1]}));
  assert(integers(op.tokens, op.d_out.rows()));
  use({&op.d_out, &op.tokens, &op.d_table});
  embedding_backward(stream(), op);
}

void CudaBackend::run(const AddNorm& op) {
  [[maybe_unused]] const Shape shape = op.input.shape;
  assert(rows(op.input, shape) && rows(op.out, shape) && absent_or_rows(op.branch, shape));
  assert(op.branch.present() == op.sum.present() && absent_or_rows(op.sum, shape));
  assert(rows(op.weight, {shape[1]}) && is(op.rstd, {shape[0]}, DType::f32));
  assert(op.dropout.rate >= 0 && op.dropout.rate < 1 && absent_or_number(op.peak));
  use({&op.input, &op.branch, &op.weight, &op.sum, &op.out, &op.rstd, &op.dropout.stream_base,
       &op.peak});
  add_norm(stream(), op);
}

void CudaBackend::run(const NormAgain& op) {
  assert(rows(op.out, op.x.shape) && rows(op.x, op.out.shape));
  assert(rows(op.weight, {op.x.shape[1]}) && is(op.rstd, {op.x.shape[0]}, DType::f32));
  use({&op.x, &op.rstd, &op.weight, &op.out});
  norm_again(stream(), op);
}

void CudaBackend::run(const AddNormBackward& op) {
  [[maybe_unused]] const Shape shape = op.sum.shape;
  assert(rows(op.d_out, shape) && rows(op.sum, shape) && rows(op.d_sum, shape));
  assert(absent_or_rows(op.d_residual, shape) && absent_or_rows(op.d_branch, shape));
  assert(rows(op.weight, {shape[1]}) && is(op.rstd, {shape[0]}, DType::f32));
  assert(absent_or_gradient(op.d_weight, {shape[1]}) && shape[1] <= kWidestNorm);
  assert(is(op.scratch, {op.scratch.rows(), shape[1]}, DType::f32) && absent_or_number(op.peak));
  use({&op.d_out, &op.d_residual, &op.sum, &op.weight, &op.rstd, &op.d_sum, &op.d_branch,
       &op.d_weight, &op.scratch, &op.dropout.stream_base, &op.peak});
  add_norm_backward(stream(), op);
}

void CudaBackend::make_ready(const Linear& op) {
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}));
  assert(gradient(op.y, {op.x.rows(), op.y.shape[1]}));
  assert(rows(op.weight, {op.y.shape[1], op.x.shape[1]}));
  assert(absent_or_rows(op.bias, {op.y.shape[1]}));
  // No library adds a bf16 bias to f32 results.
  assert(!op.bias.present() || op.y.dtype == DType::bf16);
  use({&op.x, &op.weight, &op.bias, &op.y});
}

void CudaBackend::run(const Linear& op) {
  make_ready(op);
  products_->linear(op);
}

void CudaBackend::make_ready(const LinearBackward& op) {
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}) && rows(op.d_y, {op.x.rows(), op.d_y.shape[1]}));
  assert(rows(op.weight, {op.d_y.shape[1], op.x.shape[1]}));
  assert(absent_or_gradient(op.d_weight, op.weight.shape) && absent_or_rows(op.d_x, op.x.shape));
  assert(!op.d_bias.present() || gradient(op.d_bias, {op.d_y.shape[1]}));
  assert(absent_or_rows(op.gelu_pre, op.d_x.shape));
  use({&op.d_y, &op.x, &op.weight, &op.d_x, &op.d_weight, &op.d_bias, &op.gelu_pre});
}

void CudaBackend::run(const LinearBackward& op) {
  make_ready(op);
  LinearBackward product = op;
  const bool slope_left = op.gelu_pre.present() && !products_->has_gelu_slope(op);
  if (slope_left) product.gelu_pre = {};
  products_->linear_backward(product);
  if (slope_left) {
    mlp_activation_backward(stream(), {.activation = Activation::gelu,
                                       .pre = op.gelu_pre,
                                       .d_out = op.d_x,
                                       .d_pre = op.d_x,
                                       .peak = {}});
  }
  if (op.d_bias.present()) add_columns(stream(), op.d_y, op.d_bias);
}

void CudaBackend::run(const QuantisedEmbedding& op) {
  assert(op.table.has_rows_of(op.out.shape[1]) && integers(op.tokens, op.out.rows()));
  assert(rows(op.out, {op.tokens.elements(), op.out.shape[1]}));
  use({&op.table.codes, &op.table.scales, &op.tokens, &op.out});
  quantised_embedding(stream(), op);
}

void CudaBackend::run(const QuantisedLinear& op) {
  use({&op.x, &op.weight.codes, &op.weight.scales, &op.bias, &op.y, &op.scratch});
  quantised_linear(stream(), *products_, op);
}

void CudaBackend::run(const QuantisedLinearBackward& op) {
  use({&op.d_y, &op.weight.codes, &op.weight.scales, &op.d_x, &op.scratch});
  quantised_linear_backward(stream(), *products_, op);
}

void CudaBackend::run(const Lora& op) {
  use({&op.x, &op.dropped, &op.a, &op.b, &op.h, &op.y});
  lora(stream(), *products_, op);
}

void CudaBackend::run(const LoraBackward& op) {
  use({&op.d_y, &op.x, &op.dropped, &op.a, &op.b, &op.h, &op.d_h, &op.d_a, &op.d_b, &op.d_x});
  lora_backward(stream(), *products_, op);
}

void CudaBackend::run(const QkNorm& op) {
  assert(usable(op.shape) && rows(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(rows(op.out, op.qkv.shape) && rows(op.q_weight, {op.shape.head_dim}));
  assert(rows(op.k_weight, {op.shape.head_dim}));
  assert(is(op.rstd, {op.qkv.rows(), op.shape.heads + op.shape.kv_heads}, DType::f32));
  use({&op.qkv, &op.q_weight, &op.k_weight, &op.out, &op.rstd});
  qk_norm(stream(), op);
}

void CudaBackend::run(const QkNormBackward& op) {
  assert(usable(op.shape) && rows(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(rows(op.d_qkv, op.qkv.shape) && rows(op.q_weight, {op.shape.head_dim}));
  assert(rows(op.k_weight, {op.shape.head_dim}));
  assert(absent_or_gradient(op.d_q_weight, {op.shape.head_dim}));
  assert(absent_or_gradient(op.d_k_weight, {op.shape.head_dim}));
  assert(op.d_q_weight.dtype == op.d_k_weight.dtype);
  assert(is(op.rstd, {op.qkv.rows(), op.shape.heads + op.shape.kv_heads}, DType::f32));
  assert(is(op.scratch, {op.scratch.rows(), 2 * op.shape.head_dim}, DType::f32));
  use({&op.qkv, &op.q_weight, &op.k_weight, &op.rstd, &op.d_qkv, &op.d_q_weight, &op.d_k_weight,
       &op.scratch});
  qk_norm_backward(stream(), op);
}

void CudaBackend::run(const Rope& op) {
  assert(usable(op.shape) && rows(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(is(op.table, {op.table.rows(), op.shape.head_dim}, DType::f32));
  assert(op.first_position + std::min(op.shape.sequence, op.qkv.rows()) <= op.table.rows());
  use({&op.qkv, &op.table});
  rope(stream(), op);
}

void CudaBackend::run(const Attention& op) {
  assert(usable(op.shape) && rows(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(op.qkv.rows() % op.shape.sequence == 0 && integers(op.document_starts, op.qkv.rows()));
  assert(rows(op.out, {op.qkv.rows(), op.shape.query_width()}));
  assert(is(op.lse, {op.qkv.rows(), op.shape.heads}, DType::f32));
  assert(absent_or_number(op.peak));
  use({&op.qkv, &op.document_starts, &op.out, &op.lse, &op.peak});
  attention(stream(), op);
}

void CudaBackend::run(const AttentionBackward& op) {
  assert(usable(op.shape) && rows(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(op.qkv.rows() % op.shape.sequence == 0 && rows(op.d_qkv, op.qkv.shape));
  assert(integers(op.document_starts, op.qkv.rows()));
  assert(rows(op.out, {op.qkv.rows(), op.shape.query_width()}) && rows(op.d_out, op.out.shape));
  assert(is(op.lse, {op.qkv.rows(), op.shape.heads}, DType::f32));
  assert(is(op.scratch, op.lse.shape, DType::f32));
  use({&op.qkv, &op.document_starts, &op.out, &op.lse, &op.d_out, &op.d_qkv, &op.scratch});
  attention_backward(stream(), op);
}

void CudaBackend::run(const DecodeAttention& op) {
  assert(usable(op.shape) && rows(op.qkv, {op.qkv.rows(), op.shape.qkv_width()}));
  assert(rows(op.out, {op.qkv.rows(), op.shape.query_width()}));
  assert(rows(op.key_cache, {op.key_cache.rows(), op.shape.key_width()}));
  assert(rows(op.value_cache, op.key_cache.shape));
  assert(op.first_position + op.qkv.rows() <= op.key_cache.rows());
  use({&op.qkv, &op.key_cache, &op.value_cache, &op.out});
  decode_attention(stream(), op);
}

void CudaBackend::run(const MlpActivation& op) {
  [[maybe_unused]] const std::int64_t parts = op.activation == Activation::swiglu ? 2 : 1;
  assert(rows(op.out, {op.out.rows(), op.out.shape[1]}));
  assert(rows(op.pre, {op.out.rows(), op.out.shape[1] * parts}));
  assert(absent_or_number(op.peak));
  use({&op.pre, &op.out, &op.peak});
  mlp_activation(stream(), op);
}

void CudaBackend::run(const MlpActivationBackward& op) {
  [[maybe_unused]] const std::int64_t parts = op.activation == Activation::swiglu ? 2 : 1;
  assert(rows(op.d_out, {op.d_out.rows(), op.d_out.shape[1]}));
  assert(rows(op.pre, {op.d_out.rows(), op.d_out.shape[1] * parts}));
  assert(rows(op.d_pre, op.pre.shape) && absent_or_number(op.peak));
  use({&op.pre, &op.d_out, &op.d_pre, &op.peak});
  mlp_activation_backward(stream(), op);
}

/// A bf16 d_weight is rounded after each chunk: the logits of all would not fit.
void CudaBackend::run(const HeadLoss& op) {
  assert(rows(op.x, {op.x.rows(), op.x.shape[1]}) && is(op.losses, {op.x.rows()}, DType::f32));
  assert(rows(op.weight, {op.weight.rows(), op.x.shape[1]}));
  assert(integers(op.targets, op.x.rows()));
  assert(rows(op.logits, {op.logits.rows(), op.weight.rows()}) && op.logits.rows() > 0);
  assert(absent_or_rows(op.d_x, op.x.shape) && (op.d_x.present() || !op.d_weight.present()));
  assert(absent_or_gradient(op.d_weight, op.weight.shape));
  assert(!op.row_factors.present() || is(op.row_factors, {op.x.rows()}, DType::f32));
  assert(!op.gradient_factor.present() || is(op.gradient_factor, {1}, DType::f32));
  use({&op.x, &op.weight, &op.targets, &op.losses, &op.d_x, &op.d_weight, &op.logits,
       &op.gradient_factor, &op.row_factors});
  const std::int64_t chunk = op.logits.rows();
  for (std::int64_t first = 0; first < op.x.rows(); first += chunk) {
    const std::int64_t count = std::min(chunk, op.x.rows() - first);
    const Tensor x = op.x.slice_rows(first, count);
    const Tensor logits = op.logits.slice_rows(0, count);
    products_->linear({.x = x, .weight = op.weight, .bias = {}, .y = logits});
    head_losses(stream(), op, first, count);
    if (!op.d_x.present()) continue;
    products_->linear_backward({.d_y = logits,
                                .x = x,
                                .weight = op.weight,
                                .d_x = op.d_x.slice_rows(first, count),
                                .d_weight = op.d_weight,
                                .d_bias = {}});
  }
}

void CudaBackend::run(const Peak& op) {
  assert(rows(op.x, op.x.shape) && is(op.peak, {1}, DType::f32));
  use({&op.x, &op.peak});
  peak(stream(), op);
}

void CudaBackend::run(const Quantise& op) {
  [[maybe_unused]] const std::int64_t columns = op.x.row_elements();
  assert(rows(op.x, {op.x.rows(), columns}) && absent_or_codes(op.codes, op.x.shape));
  assert(absent_or_codes(op.transposed, {columns, op.x.rows()}));
  assert(is(op.peak, {1}, DType::f32) && is(op.scale, {1}, DType::f32));
  use({&op.x, &op.peak, &op.codes, &op.transposed, &op.scale});
  quantise(stream(), op);
}

void CudaBackend::run(const LinearFp8& op) {
  const Linear& as = op.in_rows_type;
  make_ready(as);
  assert(fp8(op.x, as.x.rows(), as.x.shape[1]));
  assert(fp8(op.weight, as.weight.rows(), as.x.shape[1]));
  use({&op.x.codes, &op.weight.codes});
  products_->linear(op);
}

void CudaBackend::run(const LinearBackwardFp8& op) {
  const LinearBackward& as = op.in_rows_type;
  make_ready(as);
  [[maybe_unused]] const std::int64_t count = as.x.rows();
  assert(fp8(op.d_y, count, as.d_y.shape[1]) && fp8(op.d_y_transposed, as.d_y.shape[1], count));
  assert(fp8(op.x_transposed, as.x.shape[1], count));
  assert(fp8(op.weight_transposed, as.x.shape[1], as.d_y.shape[1]));
  use({&op.d_y.codes, &op.d_y_transposed.codes, &op.x_transposed.codes,
       &op.weight_transposed.codes});
  products_->linear_backward(op);
  if (as.d_bias.present()) add_columns(stream(), as.d_y, as.d_bias);
}

}  // namespace athanor::cuda
