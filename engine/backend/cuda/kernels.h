// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/stream.h"
#include "engine/backend/operations.h"

/// The kernels' launches. Each queues its work on the stream and returns; tensors lie in device
/// memory and were checked by the backend. Rows of values and weights are bf16 throughout, weights'
/// gradients bf16 or f32; scratch for sums over rows is [parts, …] with as many parts as blocks.
namespace athanor::cuda {

void embedding(Stream stream, const Embedding& op);
void embedding_backward(Stream stream, const EmbeddingBackward& op);
void add_norm(Stream stream, const AddNorm& op);
void norm_again(Stream stream, const NormAgain& op);
void add_norm_backward(Stream stream, const AddNormBackward& op);
/// The widest rows that add_norm_backward() takes.
inline constexpr std::int64_t kWidestNorm = 8192;
/// to += Σ of the rows of `from`; both f32 or bf16.
void add_columns(Stream stream, const Tensor& from, const Tensor& to);
/// Rows up to which quantised_rows() multiplies.
inline constexpr std::int64_t kFewQuantisedRows = 8;
void quantised_rows(Stream stream, const QuantisedLinear& op);
void quantised_embedding(Stream stream, const QuantisedEmbedding& op);
/// The matrix's numbers in bf16, [out, in].
void widen(Stream stream, const QuantisedMatrix& matrix, const Tensor& to);
/// to = dropout(from), and the same added.
void drop(Stream stream, const Dropout& dropout, const Tensor& from, const Tensor& to);
void add_dropped(Stream stream, const Dropout& dropout, const Tensor& from, const Tensor& to);
/// The largest heads that qk_norm() and its backward direction take.
inline constexpr std::int64_t kWidestHeadNorm = 256;
void qk_norm(Stream stream, const QkNorm& op);
void qk_norm_backward(Stream stream, const QkNormBackward& op);
void rope(Stream stream, const Rope& op);
void mlp_activation(Stream stream, const MlpActivation& op);
void mlp_activation_backward(Stream stream, const MlpActivationBackward& op);

void peak(Stream stream, const Peak& op);
void quantise(Stream stream, const Quantise& op);

void attention(Stream stream, const Attention& op);
void attention_backward(Stream stream, const AttentionBackward& op);
void decode_attention(Stream stream, const DecodeAttention& op);
/// Whether attention has kernels for heads of so many elements.
bool attention_supports(std::int64_t head_dim);

/// Losses of the chunk of rows that begins with `first`, whose logits are made; in their place
/// their gradients if op.d_x is present. Masked rows become zeros.
void head_losses(Stream stream, const HeadLoss& op, std::int64_t first, std::int64_t rows);

void adamw(Stream stream, const AdamW& op);
void adamw_8bit(Stream stream, const AdamW8& op);

/// Numbers that sum_of_squares() keeps on its way, and muon_begin() but for one more.
inline constexpr std::int64_t kSquareParts = 1024;
/// sums[0] = Σ x² in double precision; sums is [kSquareParts] doubles.
void sum_of_squares(Stream stream, const Tensor& x, double* sums);

/// Moves op's momentum on and puts what Newton and Schulz's iteration begins with into op.x; sums
/// is [kSquareParts + 1] doubles.
void muon_begin(Stream stream, const Muon& op, double* sums);
/// Takes the step of op's weights by the iteration's result.
void muon_update(Stream stream, const Muon& op, const Tensor& y);

}  // namespace athanor::cuda
