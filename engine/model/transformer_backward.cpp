// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

namespace athanor {

void Transformer::backward(const TrainPass& pass, const Tensor& d_normed, const Tensor& sum,
                           const Tensor& rstd, Arena& arena) const {
  const DType type = backend_.compute_type();
  const std::int64_t rows = d_normed.rows();
  Backward state{
      .weights = pass.weights,
      .gradients = pass.gradients,
      .document_starts = pass.batch.document_starts,
      .d_stream = arena.take(MemoryRole::activations, type, {rows, config_.width}),
      .d_branch = {},
      .norm_scratch = arena.take(MemoryRole::workspace, type, {kReductionParts, config_.width}),
      .pass = &pass};
  state.d_branch = config_.dropout == 0
                       ? state.d_stream
                       : arena.take(MemoryRole::activations, type, {rows, config_.width});
  backward_norm(state, d_normed, {}, sum, rstd, parameters_.final_norm(), 2 * config_.layers - 1);
  for (std::int64_t index = config_.layers - 1; index >= 0; --index) {
    backward_mlp(index, state, arena);
    backward_attention(index, state, arena);
  }
  backend_.run(
      EmbeddingBackward{.d_out = state.d_stream,
                        .tokens = pass.batch.tokens,
                        .d_table = parameters_.view(pass.gradients, parameters_.embedding())});
}

void Transformer::backward_norm(const Backward& state, const Tensor& d_out,
                                const Tensor& d_residual, const Tensor& sum, const Tensor& rstd,
                                int weight, std::int64_t branch) const {
  const Dropout dropout =
      dropout_of(config_.dropout, state.pass->dropout_seed, state.pass->micro_step, branch);
  backend_.run(AddNormBackward{.d_out = d_out,
                               .d_residual = d_residual,
                               .sum = sum,
                               .weight = parameters_.view(state.weights, weight),
                               .rstd = rstd,
                               .dropout = dropout,
                               .d_sum = state.d_stream,
                               .d_branch = dropout.rate == 0 ? Tensor{} : state.d_branch,
                               .d_weight = parameters_.view(state.gradients, weight),
                               .scratch = state.norm_scratch});
}

void Transformer::backward_mlp(std::int64_t index, const Backward& state, Arena& arena) const {
  const ArenaScope scope(arena);
  const LayerParameters& ids = parameters_.layer(index);
  const LayerActivations& layer = layers_[static_cast<std::size_t>(index)];
  const auto like = [&](const Tensor& tensor) {
    return arena.take(MemoryRole::activations, tensor.dtype, tensor.shape);
  };
  const auto linear = [&](const Tensor& d_y, const Tensor& x, int weight, int bias,
                          const Tensor& d_x) {
    backend_.run(LinearBackward{.d_y = d_y,
                                .x = x,
                                .weight = parameters_.view(state.weights, weight),
                                .d_x = d_x,
                                .d_weight = parameters_.view(state.gradients, weight),
                                .d_bias = parameters_.view(state.gradients, bias)});
  };
  const Tensor d_hidden = like(layer.hidden);
  const Tensor d_pre = like(layer.pre);
  const Tensor d_normed = like(layer.normed2);
  linear(state.d_branch, layer.hidden, ids.down, ids.down_bias, d_hidden);
  backend_.run(MlpActivationBackward{
      .activation = config_.activation, .pre = layer.pre, .d_out = d_hidden, .d_pre = d_pre});
  linear(d_pre, layer.normed2, ids.up, ids.up_bias, d_normed);
  backward_norm(state, d_normed, state.d_stream, layer.sum2, layer.rstd2, ids.mlp_norm, 2 * index);
}

void Transformer::backward_attention(std::int64_t index, const Backward& state,
                                     Arena& arena) const {
  const ArenaScope scope(arena);
  const LayerParameters& ids = parameters_.layer(index);
  const LayerActivations& layer = layers_[static_cast<std::size_t>(index)];
  const AttentionShape shape = config_.attention_shape(config_.context);
  const auto weight = [&](int id) { return parameters_.view(state.weights, id); };
  const auto gradient = [&](int id) { return parameters_.view(state.gradients, id); };
  const auto take = [&](MemoryRole role, Shape taken) {
    return arena.take(role, backend_.compute_type(), taken);
  };
  const Tensor d_attended = take(MemoryRole::activations, layer.attended.shape);
  const Tensor d_qkv = take(MemoryRole::activations, layer.qkv.shape);
  const Tensor d_normed = take(MemoryRole::activations, layer.normed1.shape);
  backend_.run(LinearBackward{.d_y = state.d_branch,
                              .x = layer.attended,
                              .weight = weight(ids.attention_out),
                              .d_x = d_attended,
                              .d_weight = gradient(ids.attention_out),
                              .d_bias = {}});
  backend_.run(AttentionBackward{.shape = shape,
                                 .qkv = layer.qkv,
                                 .document_starts = state.document_starts,
                                 .out = layer.attended,
                                 .lse = layer.lse,
                                 .d_out = d_attended,
                                 .d_qkv = d_qkv,
                                 .scratch = take(MemoryRole::workspace, layer.lse.shape)});
  backend_.run(Rope{.shape = shape, .qkv = d_qkv, .table = rope_table_, .inverse = true});
  if (config_.qk_norm) {
    backend_.run(QkNormBackward{
        .shape = shape,
        .qkv = layer.qkv_raw,
        .q_weight = weight(ids.q_norm),
        .k_weight = weight(ids.k_norm),
        .rstd = layer.qk_rstd,
        .d_qkv = d_qkv,
        .d_q_weight = gradient(ids.q_norm),
        .d_k_weight = gradient(ids.k_norm),
        .scratch = take(MemoryRole::workspace, {kReductionParts, 2 * config_.head_dim()})});
  }
  backend_.run(LinearBackward{.d_y = d_qkv,
                              .x = layer.normed1,
                              .weight = weight(ids.qkv),
                              .d_x = d_normed,
                              .d_weight = gradient(ids.qkv),
                              .d_bias = {}});
  backward_norm(state, d_normed, state.d_stream, layer.sum1, layer.rstd1, ids.attention_norm,
                2 * index - 1);
}

}  // namespace athanor
