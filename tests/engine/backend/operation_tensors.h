// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>

#include "engine/backend/backend.h"

namespace athanor {

/// The one operation that is not a struct of its own in the engine.
struct SumOfSquares {
  Tensor x;
  Tensor result;  ///< [1]
};

using AnyOperation =
    std::variant<Embedding, EmbeddingBackward, AddNorm, NormAgain, AddNormBackward, Linear,
                 LinearBackward, QuantisedEmbedding, QuantisedLinear, QuantisedLinearBackward, Lora,
                 LoraBackward, QkNorm, QkNormBackward, Rope, Attention, AttentionBackward,
                 DecodeAttention, MlpActivation, MlpActivationBackward, HeadLoss, AdamW, AdamW8,
                 Muon, FromHost, ToHost, Peak, Quantise, LinearFp8, LinearBackwardFp8,
                 SumOfSquares>;

/// changed: read and written, such as accumulated gradients.
enum class Use { input, output, changed, scratch };

/// What decides a tensor's type: those of one kind have one. Operands are what an operation
/// multiplies on its way.
enum class Kind { rows, weight, gradient, statistic, operand, integer };

/// Roundings of a transcendental function and the arithmetic around it, as if they were terms.
inline constexpr std::int64_t kFunction_terms = 16;

/// Calls visit(name, tensor, kind, use, terms) for each argument of an operation, absent ones too.
/// `terms` is how many products or addends an element of an output sums up; the tolerance follows
/// from it.
template <class Visit>
void visit_tensors(Embedding& op, Visit&& visit) {
  visit("table", op.table, Kind::weight, Use::input, 0);
  visit("tokens", op.tokens, Kind::integer, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::output, 1);
}

template <class Visit>
void visit_tensors(EmbeddingBackward& op, Visit&& visit) {
  visit("d_out", op.d_out, Kind::rows, Use::input, 0);
  visit("tokens", op.tokens, Kind::integer, Use::input, 0);
  visit("d_table", op.d_table, Kind::gradient, Use::changed, op.d_out.rows());
}

template <class Visit>
void visit_tensors(AddNorm& op, Visit&& visit) {
  const std::int64_t width = op.weight.elements();
  visit("input", op.input, Kind::rows, Use::input, 0);
  visit("branch", op.branch, Kind::rows, Use::input, 0);
  visit("stream_base", op.dropout.stream_base, Kind::integer, Use::input, 0);
  visit("weight", op.weight, Kind::weight, Use::input, 0);
  visit("sum", op.sum, Kind::rows, Use::output, 2);
  visit("out", op.out, Kind::rows, Use::output, width);
  visit("rstd", op.rstd, Kind::statistic, Use::output, width);
  visit("peak", op.peak, Kind::statistic, Use::changed, width);
}

template <class Visit>
void visit_tensors(NormAgain& op, Visit&& visit) {
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("rstd", op.rstd, Kind::statistic, Use::input, 0);
  visit("weight", op.weight, Kind::weight, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::output, 1);
}

template <class Visit>
void visit_tensors(AddNormBackward& op, Visit&& visit) {
  const std::int64_t width = op.weight.elements();
  visit("d_out", op.d_out, Kind::rows, Use::input, 0);
  visit("stream_base", op.dropout.stream_base, Kind::integer, Use::input, 0);
  visit("sum", op.sum, Kind::rows, Use::input, 0);
  visit("weight", op.weight, Kind::weight, Use::input, 0);
  visit("rstd", op.rstd, Kind::statistic, Use::input, 0);
  // Before d_sum, which may be the same tensor: its use is then that of the output.
  visit("d_residual", op.d_residual, Kind::rows, Use::input, 0);
  visit("d_sum", op.d_sum, Kind::rows, Use::output, width);
  visit("d_branch", op.d_branch, Kind::rows, Use::output, width);
  visit("d_weight", op.d_weight, Kind::gradient, Use::changed, op.sum.rows());
  visit("scratch", op.scratch, Kind::statistic, Use::scratch, 0);
  visit("peak", op.peak, Kind::statistic, Use::changed, width);
}

template <class Visit>
void visit_tensors(Linear& op, Visit&& visit) {
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("weight", op.weight, Kind::weight, Use::input, 0);
  visit("bias", op.bias, Kind::weight, Use::input, 0);
  visit("y", op.y, Kind::rows, Use::output, op.x.row_elements() + 1);
}

template <class Visit>
void visit_tensors(LinearBackward& op, Visit&& visit) {
  visit("d_y", op.d_y, Kind::rows, Use::input, 0);
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("weight", op.weight, Kind::weight, Use::input, 0);
  visit("gelu_pre", op.gelu_pre, Kind::rows, Use::input, 0);
  const std::int64_t slope_terms = op.gelu_pre.present() ? kFunction_terms : 0;
  visit("d_x", op.d_x, Kind::rows, Use::output, op.weight.rows() + slope_terms);
  visit("d_weight", op.d_weight, Kind::gradient, Use::changed, op.x.rows() + 1);
  visit("d_bias", op.d_bias, Kind::gradient, Use::changed, op.x.rows() + 1);
}

template <class Visit>
void visit_tensors(QuantisedEmbedding& op, Visit&& visit) {
  visit("codes", op.table.codes, Kind::integer, Use::input, 0);
  visit("scales", op.table.scales, Kind::integer, Use::input, 0);
  visit("tokens", op.tokens, Kind::integer, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::output, 1);
}

template <class Visit>
void visit_tensors(QuantisedLinear& op, Visit&& visit) {
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("codes", op.weight.codes, Kind::integer, Use::input, 0);
  visit("scales", op.weight.scales, Kind::integer, Use::input, 0);
  visit("bias", op.bias, Kind::weight, Use::input, 0);
  visit("y", op.y, Kind::rows, Use::output, op.x.row_elements() + 1);
  visit("scratch", op.scratch, Kind::integer, Use::scratch, 0);
}

template <class Visit>
void visit_tensors(QuantisedLinearBackward& op, Visit&& visit) {
  visit("d_y", op.d_y, Kind::rows, Use::input, 0);
  visit("codes", op.weight.codes, Kind::integer, Use::input, 0);
  visit("scales", op.weight.scales, Kind::integer, Use::input, 0);
  visit("d_x", op.d_x, Kind::rows, Use::output, op.d_y.row_elements());
  visit("scratch", op.scratch, Kind::integer, Use::scratch, 0);
}

template <class Visit>
void visit_tensors(Lora& op, Visit&& visit) {
  const std::int64_t in = op.x.row_elements();
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("dropped", op.dropped, Kind::rows, Use::scratch, 0);
  visit("a", op.a, Kind::weight, Use::input, 0);
  visit("b", op.b, Kind::weight, Use::input, 0);
  visit("h", op.h, Kind::rows, Use::output, in);
  visit("y", op.y, Kind::rows, Use::changed, in + op.h.row_elements() + 1);
}

template <class Visit>
void visit_tensors(LoraBackward& op, Visit&& visit) {
  const std::int64_t out = op.b.rows();
  visit("d_y", op.d_y, Kind::rows, Use::input, 0);
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("dropped", op.dropped, Kind::rows, Use::scratch, 0);
  visit("a", op.a, Kind::weight, Use::input, 0);
  visit("b", op.b, Kind::weight, Use::input, 0);
  visit("h", op.h, Kind::rows, Use::input, 0);
  visit("d_h", op.d_h, Kind::rows, Use::output, out);
  visit("d_a", op.d_a, Kind::gradient, Use::changed, out + op.x.rows() + 1);
  visit("d_b", op.d_b, Kind::gradient, Use::changed, op.x.rows() + 1);
  visit("d_x", op.d_x, Kind::rows, Use::changed, out + op.h.row_elements() + 1);
}

template <class Visit>
void visit_tensors(QkNorm& op, Visit&& visit) {
  visit("qkv", op.qkv, Kind::rows, Use::input, 0);
  visit("q_weight", op.q_weight, Kind::weight, Use::input, 0);
  visit("k_weight", op.k_weight, Kind::weight, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::output, op.shape.head_dim);
  visit("rstd", op.rstd, Kind::statistic, Use::output, op.shape.head_dim);
}

template <class Visit>
void visit_tensors(QkNormBackward& op, Visit&& visit) {
  const std::int64_t rows = op.qkv.rows();
  visit("qkv", op.qkv, Kind::rows, Use::input, 0);
  visit("q_weight", op.q_weight, Kind::weight, Use::input, 0);
  visit("k_weight", op.k_weight, Kind::weight, Use::input, 0);
  visit("rstd", op.rstd, Kind::statistic, Use::input, 0);
  visit("d_qkv", op.d_qkv, Kind::rows, Use::changed, op.shape.head_dim);
  visit("d_q_weight", op.d_q_weight, Kind::gradient, Use::changed, rows * op.shape.heads);
  visit("d_k_weight", op.d_k_weight, Kind::gradient, Use::changed, rows * op.shape.kv_heads);
  visit("scratch", op.scratch, Kind::statistic, Use::scratch, 0);
}

template <class Visit>
void visit_tensors(Rope& op, Visit&& visit) {
  visit("table", op.table, Kind::statistic, Use::input, 0);
  visit("qkv", op.qkv, Kind::rows, Use::changed, 2);
}

template <class Visit>
void visit_tensors(Attention& op, Visit&& visit) {
  const std::int64_t terms = op.shape.head_dim + op.shape.sequence;
  visit("qkv", op.qkv, Kind::rows, Use::input, 0);
  visit("document_starts", op.document_starts, Kind::integer, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::output, terms);
  visit("lse", op.lse, Kind::statistic, Use::output, terms);
  visit("peak", op.peak, Kind::statistic, Use::changed, terms);
}

template <class Visit>
void visit_tensors(AttentionBackward& op, Visit&& visit) {
  const std::int64_t terms =
      2 * op.shape.head_dim + op.shape.sequence * op.shape.heads / op.shape.kv_heads;
  visit("qkv", op.qkv, Kind::rows, Use::input, 0);
  visit("document_starts", op.document_starts, Kind::integer, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::input, 0);
  visit("lse", op.lse, Kind::statistic, Use::input, 0);
  visit("d_out", op.d_out, Kind::rows, Use::input, 0);
  visit("d_qkv", op.d_qkv, Kind::rows, Use::output, terms);
  visit("scratch", op.scratch, Kind::statistic, Use::scratch, 0);
}

template <class Visit>
void visit_tensors(DecodeAttention& op, Visit&& visit) {
  const std::int64_t visible = op.first_position + op.qkv.rows();
  visit("qkv", op.qkv, Kind::rows, Use::input, 0);
  visit("key_cache", op.key_cache, Kind::rows, Use::changed, 1);
  visit("value_cache", op.value_cache, Kind::rows, Use::changed, 1);
  visit("out", op.out, Kind::rows, Use::output, op.shape.head_dim + visible);
}

template <class Visit>
void visit_tensors(MlpActivation& op, Visit&& visit) {
  visit("pre", op.pre, Kind::rows, Use::input, 0);
  visit("out", op.out, Kind::rows, Use::output, kFunction_terms);
  visit("peak", op.peak, Kind::statistic, Use::changed, kFunction_terms);
}

template <class Visit>
void visit_tensors(MlpActivationBackward& op, Visit&& visit) {
  visit("pre", op.pre, Kind::rows, Use::input, 0);
  visit("d_out", op.d_out, Kind::rows, Use::input, 0);
  visit("d_pre", op.d_pre, Kind::rows, Use::output, kFunction_terms);
  visit("peak", op.peak, Kind::statistic, Use::changed, kFunction_terms);
}

template <class Visit>
void visit_tensors(HeadLoss& op, Visit&& visit) {
  const std::int64_t width = op.x.row_elements();
  const std::int64_t vocabulary = op.weight.rows();
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("weight", op.weight, Kind::weight, Use::input, 0);
  visit("targets", op.targets, Kind::integer, Use::input, 0);
  visit("gradient_factor", op.gradient_factor, Kind::statistic, Use::input, 0);
  visit("row_factors", op.row_factors, Kind::statistic, Use::input, 0);
  visit("losses", op.losses, Kind::statistic, Use::output, width + vocabulary);
  visit("d_x", op.d_x, Kind::rows, Use::output, width + vocabulary);
  visit("d_weight", op.d_weight, Kind::gradient, Use::changed, width + op.x.rows());
  visit("logits", op.logits, Kind::rows, Use::scratch, 0);
}

template <class Visit>
void visit_tensors(AdamW& op, Visit&& visit) {
  visit("gradients", op.gradients, Kind::gradient, Use::input, 0);
  visit("weights", op.to.weights, Kind::weight, Use::changed, kFunction_terms);
  visit("master", op.to.master, Kind::statistic, Use::changed, kFunction_terms);
  visit("low_bits", op.to.low_bits, Kind::integer, Use::changed, kFunction_terms);
  visit("m", op.m, Kind::statistic, Use::changed, 3);
  visit("v", op.v, Kind::statistic, Use::changed, 4);
}

template <class Visit>
void visit_tensors(AdamW8& op, Visit&& visit) {
  visit("gradients", op.gradients, Kind::gradient, Use::input, 0);
  visit("weights", op.to.weights, Kind::weight, Use::changed, kFunction_terms);
  visit("master", op.to.master, Kind::statistic, Use::changed, kFunction_terms);
  visit("low_bits", op.to.low_bits, Kind::integer, Use::changed, kFunction_terms);
  visit("m", op.m, Kind::statistic, Use::changed, 3);
  visit("v", op.v, Kind::statistic, Use::changed, 4);
  visit("m_scale", op.m_scale, Kind::statistic, Use::changed, 3);
  visit("v_scale", op.v_scale, Kind::statistic, Use::changed, 4);
}

/// The iteration's own errors come besides (muon_roundings.h).
template <class Visit>
void visit_tensors(Muon& op, Visit&& visit) {
  visit("gradients", op.gradients, Kind::gradient, Use::input, 0);
  visit("weights", op.to.weights, Kind::weight, Use::changed, 3);
  visit("master", op.to.master, Kind::statistic, Use::changed, 3);
  visit("low_bits", op.to.low_bits, Kind::integer, Use::changed, 3);
  visit("momentum", op.momentum, Kind::statistic, Use::changed, 2);
  visit("x", op.x, Kind::operand, Use::scratch, 0);
  visit("next", op.next, Kind::operand, Use::scratch, 0);
  visit("gram", op.gram, Kind::operand, Use::scratch, 0);
  visit("polynomial", op.polynomial, Kind::operand, Use::scratch, 0);
}

template <class Visit>
void visit_tensors(FromHost& op, Visit&& visit) {
  visit("host", op.host, Kind::rows, Use::input, 0);
  visit("to", op.to, Kind::rows, Use::output, 1);
}

template <class Visit>
void visit_tensors(ToHost& op, Visit&& visit) {
  visit("from", op.from, Kind::rows, Use::input, 0);
  visit("host", op.host, Kind::rows, Use::output, 1);
}

template <class Visit>
void visit_tensors(Peak& op, Visit&& visit) {
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("peak", op.peak, Kind::statistic, Use::changed, 1);
}

/// Codes and scale have no tolerance: both are exact.
template <class Visit>
void visit_tensors(Quantise& op, Visit&& visit) {
  visit("x", op.x, Kind::rows, Use::input, 0);
  visit("peak", op.peak, Kind::statistic, Use::input, 0);
  visit("codes", op.codes, Kind::integer, Use::output, 0);
  visit("transposed", op.transposed, Kind::integer, Use::output, 0);
  visit("scale", op.scale, Kind::statistic, Use::output, 0);
}

template <class Visit>
void visit_tensors(Fp8& matrix, Visit&& visit) {
  visit("codes", matrix.codes, Kind::integer, Use::input, 0);
  visit("scale", matrix.scale, Kind::statistic, Use::input, 0);
}

template <class Visit>
void visit_tensors(LinearFp8& op, Visit&& visit) {
  visit_tensors(op.in_rows_type, visit);
  visit_tensors(op.x, visit);
  visit_tensors(op.weight, visit);
}

template <class Visit>
void visit_tensors(LinearBackwardFp8& op, Visit&& visit) {
  visit_tensors(op.in_rows_type, visit);
  for (Fp8* matrix : {&op.d_y, &op.d_y_transposed, &op.x_transposed, &op.weight_transposed})
    visit_tensors(*matrix, visit);
}

template <class Visit>
void visit_tensors(SumOfSquares& op, Visit&& visit) {
  visit("x", op.x, Kind::gradient, Use::input, 0);
  visit("result", op.result, Kind::statistic, Use::output, 1);
}

}  // namespace athanor
