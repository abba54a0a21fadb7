// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

namespace athanor {

void Transformer::open_gradients(Backward& state, const ParameterRange& range, bool fresh,
                                 std::int64_t layer) const {
  const TrainPass& pass = *state.pass;
  state.open.first = range.offset;
  const Tensor stored = pass.gradients.slice_rows(range.offset, range.elements);
  state.open.flat = pass.gradients_on_host
                        ? state.arena->borrow(MemoryRole::gradients, stored.dtype, stored.shape,
                                              {"gradients in use", layer})
                        : stored;
  if (fresh) {
    backend_.zero(state.open.flat);
  } else if (pass.gradients_on_host) {
    backend_.run(FromHost{.host = stored, .to = state.open.flat});
  }
}

void Transformer::close_gradients(const Backward& state) const {
  const TrainPass& pass = *state.pass;
  if (!pass.gradients_on_host) return;
  backend_.run(
      ToHost{.from = state.open.flat,
             .host = pass.gradients.slice_rows(state.open.first, state.open.flat.elements())});
}

void Transformer::fetch_input(const Backward& state, std::int64_t index) const {
  if (index < 0 || state.pass->recompute.of(index) != KeepLevel::host_input) return;
  backend_.run(FromHost{.host = state.pass->host_inputs[static_cast<std::size_t>(index)],
                        .to = state.host_inputs[index % 2]});
}

void Transformer::backward(Backward& state, const Tensor& d_normed, const Tensor& rstd) const {
  const TrainPass& pass = *state.pass;
  Arena& arena = *state.arena;
  const bool fresh = pass.first_of_step;
  const ArenaScope scope(arena);
  arena.begin(Phase::backward);
  if (pass.recompute.most() == KeepLevel::host_input) {
    for (Tensor& input : state.host_inputs) {
      input = arena.borrow(MemoryRole::activations, activations_, state.d_stream.shape,
                           {"block input from the host"});
    }
  }
  fetch_input(state, config_.layers - 1);
  {
    const ArenaScope norm_scope(arena);
    if (!frozen()) open_gradients(state, parameters_.range_of(parameters_.final_norm()), fresh, -1);
    backward_norm(state, d_normed, {}, state.d_stream, rstd, parameters_.final_norm(),
                  2 * config_.layers - 1);
    if (!frozen()) close_gradients(state);
  }
  for (std::int64_t index = config_.layers - 1; index >= 0; --index)
    backward_layer(index, state);
  if (frozen()) return;
  // The head, where it is the same table, has added to it already.
  open_gradients(state, parameters_.range_of(parameters_.embedding()), fresh && !config_.tied, -1);
  backend_.run(EmbeddingBackward{.d_out = state.d_stream,
                                 .tokens = pass.batch.tokens,
                                 .d_table = gradient(state, parameters_.embedding())});
  close_gradients(state);
}

void Transformer::backward_layer(std::int64_t index, Backward& state) const {
  const KeepLevel level = state.pass->recompute.of(index);
  // A copy: what is made again replaces the views of the forward direction.
  LayerActivations layer = layers_[static_cast<std::size_t>(index)];
  // One ahead, so that a device copies while it computes.
  fetch_input(state, index - 1);
  if (level == KeepLevel::host_input) layer.sum1 = state.host_inputs[index % 2];
  {
    const ArenaScope scope(*state.arena);
    open_gradients(state,
                   frozen() ? adapters_.range_of_layer(index) : parameters_.range_of_layer(index),
                   state.pass->first_of_step, index);
    if (level >= KeepLevel::block_input) {
      recompute_qkv(index, state, layer);
      recompute_attended(index, state, layer);
    }
    backward_mlp(index, state, layer);
    if (level >= KeepLevel::no_qkv && level < KeepLevel::block_input) {
      recompute_qkv(index, state, layer);
    }
    backward_attention(index, state, layer);
    close_gradients(state);
  }
  state.arena->rewind_taken(layer.before);
}

void Transformer::backward_norm(const Backward& state, const Tensor& d_out,
                                const Tensor& d_residual, const Tensor& sum, const Tensor& rstd,
                                int weight, std::int64_t branch) const {
  const Dropout dropout = dropout_of(config_.dropout, state.pass->dropout_seed, branch);
  // The branch's gradient is that of the product which made it.
  const BlockProducts::Place made_by{
      branch / 2, branch % 2 == 0 ? BlockProduct::attention_out : BlockProduct::down};
  backend_.run(
      AddNormBackward{.d_out = d_out,
                      .d_residual = d_residual,
                      .sum = sum,
                      .weight = numbers(state.pass->weights, weight),
                      .rstd = rstd,
                      .dropout = dropout,
                      .d_sum = state.d_stream,
                      .d_branch = dropout.rate == 0 ? Tensor{} : state.d_branch,
                      .d_weight = gradient(state, weight),
                      .scratch = state.norm_scratch,
                      .peak = branch < 0 ? Tensor() : state.products.gradient_peak(made_by)});
}

Tensor Transformer::norm_again(const Backward& state, const Tensor& sum, const Tensor& rstd,
                               int weight, BufferName name) const {
  const Tensor out = state.arena->borrow(MemoryRole::activations, sum.dtype, sum.shape, name);
  backend_.run(NormAgain{
      .x = sum, .rstd = rstd, .weight = numbers(state.pass->weights, weight), .out = out});
  return out;
}

void Transformer::recompute_qkv(std::int64_t index, const Backward& state,
                                LayerActivations& layer) const {
  const AttentionShape attention = config_.attention_shape(config_.context);
  const std::int64_t rows = layer.sum1.rows();
  const auto borrow = [&](DType type, std::int64_t columns, const char* what) {
    return state.arena->borrow(MemoryRole::activations, type, {rows, columns}, {what, index});
  };
  if (config_.qk_norm) {
    layer.qkv_raw = borrow(activations_, attention.qkv_width(), "QKV before its norm, again");
    layer.qk_rstd = borrow(backend_.compute_type(), attention.heads + attention.kv_heads,
                           "QK-norm's scales, again");
  }
  layer.qkv = borrow(activations_, attention.qkv_width(), "QKV, again");
  const ArenaScope scope(*state.arena);
  layer.normed1 = norm_again(state, layer.sum1, layer.rstd1,
                             parameters_.layer(index).attention_norm, {"first norm, again", index});
  make_qkv(index, state.pass->weights, state.products, layer, 0);
}

void Transformer::recompute_attended(std::int64_t index, const Backward& state,
                                     LayerActivations& layer) const {
  const AttentionShape shape = config_.attention_shape(config_.context);
  const std::int64_t rows = layer.qkv.rows();
  const auto borrow = [&](DType type, std::int64_t columns, const char* what) {
    return state.arena->borrow(MemoryRole::activations, type, {rows, columns}, {what, index});
  };
  layer.attended = borrow(activations_, shape.query_width(), "attention, again");
  layer.lse = borrow(backend_.compute_type(), shape.heads, "attention's log-sums, again");
  backend_.run(Attention{.shape = shape,
                         .qkv = layer.qkv,
                         .document_starts = state.pass->batch.document_starts,
                         .out = layer.attended,
                         .lse = layer.lse});
}

void Transformer::recompute_residual(std::int64_t index, const Backward& state,
                                     LayerActivations& layer) const {
  const TrainPass& pass = *state.pass;
  const LayerParameters& ids = parameters_.layer(index);
  Arena& arena = *state.arena;
  const Shape shape = layer.sum1.shape;
  layer.sum2 =
      arena.borrow(MemoryRole::activations, activations_, shape, {"middle residual, again", index});
  layer.rstd2 = arena.borrow(MemoryRole::activations, backend_.compute_type(), {shape[0]},
                             {"second norm's scale, again", index});
  layer.normed2 =
      arena.borrow(MemoryRole::activations, activations_, shape, {"second norm, again", index});
  const ArenaScope scope(arena);
  const Tensor branch = arena.borrow(MemoryRole::activations, activations_, shape,
                                     {"attention's output, again", index});
  state.products.forward({index, BlockProduct::attention_out}, layer.attended, branch);
  backend_.run(AddNorm{.input = layer.sum1,
                       .branch = branch,
                       .dropout = dropout_of(config_.dropout, pass.dropout_seed, 2 * index),
                       .weight = numbers(pass.weights, ids.mlp_norm),
                       .sum = layer.sum2,
                       .out = layer.normed2,
                       .rstd = layer.rstd2,
                       .epsilon = static_cast<float>(config_.norm_epsilon)});
}

void Transformer::recompute_mlp_input(std::int64_t index, const Backward& state,
                                      LayerActivations& layer) const {
  const KeepLevel level = state.pass->recompute.of(index);
  const LayerParameters& ids = parameters_.layer(index);
  if (level >= KeepLevel::no_residual) {
    recompute_residual(index, state, layer);
  } else if (level >= KeepLevel::no_norms) {
    layer.normed2 =
        norm_again(state, layer.sum2, layer.rstd2, ids.mlp_norm, {"second norm, again", index});
  }
  if (level < KeepLevel::no_mlp_product) return;
  layer.pre =
      state.arena->borrow(MemoryRole::activations, activations_,
                          {layer.sum1.rows(), config_.pre_width()}, {"MLP product, again", index});
  state.products.forward({index, BlockProduct::up}, layer.normed2, layer.pre);
}

// FP8 needs the peak of what comes out, which a product does not tell, and adapters add to it.
bool Transformer::slope_in_product(const Backward& state) const {
  return config_.activation == Activation::gelu && !state.products.in_fp8() && !frozen();
}

Tensor Transformer::backward_activation(std::int64_t index, const Backward& state,
                                        LayerActivations& layer) const {
  Arena& arena = *state.arena;
  const Shape shape{layer.pre.rows(), config_.ffn};
  const auto borrow = [&](const char* what) {
    return arena.borrow(MemoryRole::activations, activations_, shape, {what, index});
  };
  const bool with_slope = slope_in_product(state);
  const char* gradient = "gradient of the MLP activation";
  Tensor d_hidden = with_slope ? borrow(gradient) : Tensor();
  const ArenaScope scope(arena);
  if (state.pass->recompute.of(index) >= KeepLevel::no_activation) {
    layer.hidden = borrow("MLP activation, again");
    backend_.run(
        MlpActivation{.activation = config_.activation, .pre = layer.pre, .out = layer.hidden});
  }
  if (!with_slope) d_hidden = borrow(gradient);
  state.products.backward({index, BlockProduct::down},
                          {.d_y = state.d_branch,
                           .x = layer.hidden,
                           .d_x = d_hidden,
                           .gelu_pre = with_slope ? layer.pre : Tensor()},
                          state.open);
  if (with_slope) return d_hidden;
  // The product is not needed any more: its gradient takes its place.
  backend_.run(
      MlpActivationBackward{.activation = config_.activation,
                            .pre = layer.pre,
                            .d_out = d_hidden,
                            .d_pre = layer.pre,
                            .peak = state.products.gradient_peak({index, BlockProduct::up})});
  return layer.pre;
}

void Transformer::backward_mlp(std::int64_t index, const Backward& state,
                               LayerActivations& layer) const {
  Arena& arena = *state.arena;
  const ArenaScope scope(arena);
  const LayerParameters& ids = parameters_.layer(index);
  recompute_mlp_input(index, state, layer);
  const Tensor d_pre = backward_activation(index, state, layer);
  const Shape shape{layer.pre.rows(), config_.width};
  // The product's place is free where its gradient did not take it.
  const bool in_place = slope_in_product(state) && config_.width <= config_.ffn;
  const Tensor d_normed = in_place ? Tensor{layer.pre.data, activations_, shape}
                                   : arena.borrow(MemoryRole::activations, activations_, shape,
                                                  {"gradient of the second norm", index});
  state.products.backward({index, BlockProduct::up},
                          {.d_y = d_pre, .x = layer.normed2, .d_x = d_normed}, state.open);
  backward_norm(state, d_normed, state.d_stream, layer.sum2, layer.rstd2, ids.mlp_norm, 2 * index);
}

void Transformer::backward_attention(std::int64_t index, const Backward& state,
                                     const LayerActivations& layer) const {
  Arena& arena = *state.arena;
  const ArenaScope scope(arena);
  const LayerParameters& ids = parameters_.layer(index);
  const AttentionShape shape = config_.attention_shape(config_.context);
  const auto borrow = [&](Shape taken, const char* what) {
    return arena.borrow(MemoryRole::activations, activations_, taken, {what, index});
  };
  const auto borrow_scratch = [&](Shape taken, const char* what) {
    return arena.borrow(MemoryRole::workspace, backend_.compute_type(), taken, {what, index});
  };
  const Tensor d_qkv = borrow(layer.qkv.shape, "gradient of QKV");
  {
    const ArenaScope inner(arena);
    const Tensor d_attended = borrow(layer.attended.shape, "gradient of attention");
    state.products.backward({index, BlockProduct::attention_out},
                            {.d_y = state.d_branch, .x = layer.attended, .d_x = d_attended},
                            state.open);
    backend_.run(
        AttentionBackward{.shape = shape,
                          .qkv = layer.qkv,
                          .document_starts = state.pass->batch.document_starts,
                          .out = layer.attended,
                          .lse = layer.lse,
                          .d_out = d_attended,
                          .d_qkv = d_qkv,
                          .scratch = borrow_scratch(layer.lse.shape, "attention's row sums")});
  }
  backend_.run(Rope{.shape = shape, .qkv = d_qkv, .table = rope_table_, .inverse = true});
  if (config_.qk_norm) {
    const ArenaScope inner(arena);
    backend_.run(QkNormBackward{
        .shape = shape,
        .qkv = layer.qkv_raw,
        .q_weight = numbers(state.pass->weights, ids.q_norm),
        .k_weight = numbers(state.pass->weights, ids.k_norm),
        .rstd = layer.qk_rstd,
        .d_qkv = d_qkv,
        .d_q_weight = gradient(state, ids.q_norm),
        .d_k_weight = gradient(state, ids.k_norm),
        .scratch = borrow_scratch({backend_.traits().reduction_parts, 2 * config_.head_dim()},
                                  "QK-norm gradients' parts")});
  }
  const Tensor normed = state.pass->recompute.of(index) >= KeepLevel::no_norms
                            ? norm_again(state, layer.sum1, layer.rstd1, ids.attention_norm,
                                         {"first norm, again", index})
                            : layer.normed1;
  const BlockProducts::Place qkv{index, BlockProduct::qkv};
  // Below the first layer's adapters there is nothing to train.
  const bool last = frozen() && index == 0;
  const Tensor d_normed = last ? Tensor() : borrow(layer.sum1.shape, "gradient of the first norm");
  state.products.measure_gradient(qkv, d_qkv);
  state.products.backward(qkv, {.d_y = d_qkv, .x = normed, .d_x = d_normed}, state.open);
  if (last) return;
  backward_norm(state, d_normed, state.d_stream, layer.sum1, layer.rstd1, ids.attention_norm,
                2 * index - 1);
}

}  // namespace athanor
