// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

#include <algorithm>
#include <cmath>

namespace athanor {

namespace {

/// Row p: cosines, then sines, of p · base^(−2i/head_dim), computed in double precision.
template <class Real>
void upload_rope_table(Backend& backend, const Tensor& table, double base) {
  const std::int64_t half = table.shape[1] / 2;
  std::vector<Real> row(static_cast<std::size_t>(2 * half));
  for (std::int64_t position = 0; position < table.rows(); ++position) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) *
                           std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
      row[static_cast<std::size_t>(i)] = static_cast<Real>(std::cos(angle));
      row[static_cast<std::size_t>(half + i)] = static_cast<Real>(std::sin(angle));
    }
    backend.upload(table.slice_rows(position, 1), std::as_bytes(std::span(row)));
  }
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, Backend& backend, Arena& arena,
                         std::int64_t positions)
    : config_(config),
      parameters_(config),
      backend_(backend),
      rope_table_(arena.take(MemoryRole::workspace, backend.compute_type(),
                             {positions, config.head_dim()})),
      layers_(static_cast<std::size_t>(config.layers)) {
  if (arena.recording()) return;
  if (backend.compute_type() == DType::f64) {
    upload_rope_table<double>(backend, rope_table_, config.rope_base);
  } else {
    upload_rope_table<float>(backend, rope_table_, config.rope_base);
  }
}

Transformer::LayerActivations Transformer::take_layer(std::int64_t rows, bool sum1,
                                                      Arena& arena) const {
  const AttentionShape attention = config_.attention_shape(config_.context);
  const auto take = [&](std::int64_t columns) {
    return arena.take(MemoryRole::activations, backend_.compute_type(), {rows, columns});
  };
  const auto take_column = [&] {
    return arena.take(MemoryRole::activations, backend_.compute_type(), {rows});
  };
  LayerActivations layer;
  if (sum1) layer.sum1 = take(config_.width);
  layer.rstd1 = take_column();
  layer.normed1 = take(config_.width);
  if (config_.qk_norm) {
    layer.qkv_raw = take(attention.qkv_width());
    layer.qk_rstd = take(attention.heads + attention.kv_heads);
  }
  layer.qkv = take(attention.qkv_width());
  layer.attended = take(attention.query_width());
  layer.lse = take(attention.heads);
  layer.sum2 = take(config_.width);
  layer.rstd2 = take_column();
  layer.normed2 = take(config_.width);
  layer.pre = take(config_.gated() ? 2 * config_.ffn : config_.ffn);
  layer.hidden = take(config_.ffn);
  return layer;
}

Dropout Transformer::dropout_of(double rate, std::uint64_t seed, std::uint64_t micro_step,
                                std::int64_t branch) const {
  if (rate == 0 || branch < 0) return {};
  const auto branches = static_cast<std::uint64_t>(2 * config_.layers);
  return {.rate = static_cast<float>(rate),
          .seed = seed,
          .stream = micro_step * branches + static_cast<std::uint64_t>(branch)};
}

Transformer::Forward Transformer::start_forward(const Tensor& tokens, const Tensor& weights,
                                                Arena& arena) const {
  const std::int64_t rows = tokens.elements();
  const auto take = [&] {
    return arena.take(MemoryRole::activations, backend_.compute_type(), {rows, config_.width});
  };
  Forward forward{.weights = weights, .stream = take(), .branch = take()};
  backend_.run(Embedding{.table = parameters_.view(weights, parameters_.embedding()),
                         .tokens = tokens,
                         .out = forward.stream});
  return forward;
}

void Transformer::add_norm(Forward& forward, int weight, const Tensor& sum, const Tensor& out,
                           const Tensor& rstd) const {
  AddNorm op{.input = forward.stream,
             .branch = {},
             .dropout = {},
             .weight = parameters_.view(forward.weights, weight),
             .sum = {},
             .out = out,
             .rstd = rstd,
             .epsilon = static_cast<float>(config_.norm_epsilon)};
  if (forward.branch_pending) {
    op.branch = forward.branch;
    op.sum = sum;
    op.dropout = dropout_of(forward.dropout, forward.dropout_seed, forward.micro_step,
                            forward.next_branch++);
    forward.stream = sum;
  }
  backend_.run(op);
  forward.branch_pending = false;
}

template <class Attend>
void Transformer::forward_layer(std::int64_t index, Forward& forward, LayerActivations& layer,
                                const Attend& attend) const {
  const LayerParameters& ids = parameters_.layer(index);
  const auto weight = [&](int id) { return parameters_.view(forward.weights, id); };

  add_norm(forward, ids.attention_norm, layer.sum1, layer.normed1, layer.rstd1);
  // In the first layer nothing was added yet: the sum is the embedding's output.
  layer.sum1 = forward.stream;
  const AttentionShape shape = config_.attention_shape(config_.context);
  backend_.run(Linear{.x = layer.normed1,
                      .weight = weight(ids.qkv),
                      .bias = {},
                      .y = config_.qk_norm ? layer.qkv_raw : layer.qkv});
  if (config_.qk_norm) {
    backend_.run(QkNorm{.shape = shape,
                        .qkv = layer.qkv_raw,
                        .q_weight = weight(ids.q_norm),
                        .k_weight = weight(ids.k_norm),
                        .out = layer.qkv,
                        .rstd = layer.qk_rstd,
                        .epsilon = static_cast<float>(config_.norm_epsilon)});
  }
  attend(index, layer);
  backend_.run(Linear{
      .x = layer.attended, .weight = weight(ids.attention_out), .bias = {}, .y = forward.branch});
  forward.branch_pending = true;

  add_norm(forward, ids.mlp_norm, layer.sum2, layer.normed2, layer.rstd2);
  backend_.run(Linear{
      .x = layer.normed2, .weight = weight(ids.up), .bias = weight(ids.up_bias), .y = layer.pre});
  backend_.run(
      MlpActivation{.activation = config_.activation, .pre = layer.pre, .out = layer.hidden});
  backend_.run(Linear{.x = layer.hidden,
                      .weight = weight(ids.down),
                      .bias = weight(ids.down_bias),
                      .y = forward.branch});
  forward.branch_pending = true;
}

void Transformer::train(const TrainPass& pass, Arena& arena) {
  const ArenaScope scope(arena);
  const std::int64_t rows = pass.batch.tokens.elements();
  const DType type = backend_.compute_type();
  Forward forward = start_forward(pass.batch.tokens, pass.weights, arena);
  forward.dropout = config_.dropout;
  forward.dropout_seed = pass.dropout_seed;
  forward.micro_step = pass.micro_step;

  const AttentionShape shape = config_.attention_shape(config_.context);
  const auto attend = [&](std::int64_t, const LayerActivations& layer) {
    backend_.run(Rope{.shape = shape, .qkv = layer.qkv, .table = rope_table_});
    backend_.run(Attention{.shape = shape,
                           .qkv = layer.qkv,
                           .document_starts = pass.batch.document_starts,
                           .out = layer.attended,
                           .lse = layer.lse});
  };
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    LayerActivations& layer = layers_[static_cast<std::size_t>(index)];
    layer = take_layer(rows, index > 0, arena);
    forward_layer(index, forward, layer, attend);
  }

  const auto take = [&](Shape taken) { return arena.take(MemoryRole::activations, type, taken); };
  const Tensor sum = take({rows, config_.width});
  const Tensor normed = take({rows, config_.width});
  const Tensor rstd = take({rows});
  const Tensor d_normed = take({rows, config_.width});
  add_norm(forward, parameters_.final_norm(), sum, normed, rstd);
  {
    const ArenaScope head_scope(arena);
    const Tensor logits = arena.take(MemoryRole::logits, type,
                                     {std::min(rows, pass.head_chunk_tokens), config_.vocabulary});
    backend_.run(HeadLoss{.x = normed,
                          .weight = parameters_.view(pass.weights, parameters_.head()),
                          .targets = pass.batch.targets,
                          .losses = pass.losses,
                          .gradient_scale = pass.gradient_scale,
                          .d_x = d_normed,
                          .d_weight = parameters_.view(pass.gradients, parameters_.head()),
                          .logits = logits});
  }
  backward(pass, d_normed, sum, rstd, arena);
}

void Transformer::evaluate(const Batch& batch, const Tensor& weights, const Tensor& losses,
                           std::int64_t head_chunk_tokens, Arena& arena) const {
  const ArenaScope scope(arena);
  const std::int64_t rows = batch.tokens.elements();
  Forward forward = start_forward(batch.tokens, weights, arena);
  const AttentionShape shape = config_.attention_shape(config_.context);
  // One layer's activations serve every layer: nothing is kept for a backward direction.
  const LayerActivations shared = take_layer(rows, true, arena);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    LayerActivations layer = shared;
    forward_layer(index, forward, layer, [&](std::int64_t, const LayerActivations& at) {
      backend_.run(Rope{.shape = shape, .qkv = at.qkv, .table = rope_table_});
      backend_.run(Attention{.shape = shape,
                             .qkv = at.qkv,
                             .document_starts = batch.document_starts,
                             .out = at.attended,
                             .lse = at.lse});
    });
  }
  add_norm(forward, parameters_.final_norm(), shared.sum1, shared.normed1, shared.rstd1);
  const Tensor logits = arena.take(MemoryRole::logits, backend_.compute_type(),
                                   {std::min(rows, head_chunk_tokens), config_.vocabulary});
  backend_.run(HeadLoss{.x = shared.normed1,
                        .weight = parameters_.view(weights, parameters_.head()),
                        .targets = batch.targets,
                        .losses = losses,
                        .d_x = {},
                        .d_weight = {},
                        .logits = logits});
}

Transformer::KeyValueCache Transformer::take_cache(std::int64_t capacity, Arena& arena) const {
  const std::int64_t key_width = config_.attention_shape(1).key_width();
  KeyValueCache cache;
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    for (std::vector<Tensor>* side : {&cache.keys, &cache.values}) {
      side->push_back(
          arena.take(MemoryRole::workspace, backend_.compute_type(), {capacity, key_width}));
    }
  }
  return cache;
}

void Transformer::decode(const Tensor& tokens, std::int64_t first_position, const Tensor& weights,
                         const KeyValueCache& cache, const Tensor& logits, Arena& arena) const {
  const ArenaScope scope(arena);
  const std::int64_t rows = tokens.elements();
  Forward forward = start_forward(tokens, weights, arena);
  const AttentionShape shape = config_.attention_shape(rows);
  const LayerActivations shared = take_layer(rows, true, arena);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    LayerActivations layer = shared;
    forward_layer(index, forward, layer, [&](std::int64_t at, const LayerActivations& now) {
      backend_.run(Rope{
          .shape = shape, .qkv = now.qkv, .table = rope_table_, .first_position = first_position});
      backend_.run(DecodeAttention{.shape = shape,
                                   .qkv = now.qkv,
                                   .key_cache = cache.keys[static_cast<std::size_t>(at)],
                                   .value_cache = cache.values[static_cast<std::size_t>(at)],
                                   .first_position = first_position,
                                   .out = now.attended});
    });
  }
  add_norm(forward, parameters_.final_norm(), shared.sum1, shared.normed1, shared.rstd1);
  backend_.run(Linear{.x = shared.normed1.slice_rows(rows - 1, 1),
                      .weight = parameters_.view(weights, parameters_.head()),
                      .bias = {},
                      .y = logits.reshaped({1, config_.vocabulary})});
}

}  // namespace athanor
