// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/cpu/context.h"
#include "engine/backend/operations.h"

namespace athanor::cpu {

/// Every kernel of the CPU backend: each runs `op` on the context's threads with the best
/// instruction set and returns when it is done. Shapes have been asserted. Work is split by the
/// problem alone.

void embedding(Context& context, const Embedding& op);
void embedding_backward(Context& context, const EmbeddingBackward& op);
void add_norm(Context& context, const AddNorm& op);
void norm_again(Context& context, const NormAgain& op);
void add_norm_backward(Context& context, const AddNormBackward& op);
void linear(Context& context, const Linear& op);
void linear_backward(Context& context, const LinearBackward& op);
void quantised_embedding(Context& context, const QuantisedEmbedding& op);
void quantised_linear(Context& context, const QuantisedLinear& op);
void quantised_linear_backward(Context& context, const QuantisedLinearBackward& op);
void lora(Context& context, const Lora& op);
void lora_backward(Context& context, const LoraBackward& op);
void qk_norm(Context& context, const QkNorm& op);
void qk_norm_backward(Context& context, const QkNormBackward& op);
void rope(Context& context, const Rope& op);
void attention(Context& context, const Attention& op);
void attention_backward(Context& context, const AttentionBackward& op);
void decode_attention(Context& context, const DecodeAttention& op);
void mlp_activation(Context& context, const MlpActivation& op);
void mlp_activation_backward(Context& context, const MlpActivationBackward& op);
void head_loss(Context& context, const HeadLoss& op);
void adamw(Context& context, const AdamW& op);
void adamw_8bit(Context& context, const AdamW8& op);
void muon(Context& context, const Muon& op);
double sum_of_squares(Context& context, const Tensor& x);

/// to[c] += Σ over rows of from[row · columns + c], rows in order.
void add_column_sums(Context& context, const Tensor& from, const Tensor& to);

}  // namespace athanor::cpu
