// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

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

namespace {

/// Taken before all else: the library of matrix products wants it at a multiple of 256 bytes.
void give_workspace(Backend& backend, Arena& arena) {
  const std::int64_t bytes = backend.traits().workspace_bytes;
  if (bytes == 0) return;
  const Tensor workspace =
      arena.take(MemoryRole::workspace, DType::u8, {bytes}, {"matrix products' workspace"});
  if (!arena.recording()) backend.use_workspace(workspace);
}

Tensor take_rope_table(const ModelConfig& config, Backend& backend, Arena& arena,
                       std::int64_t positions) {
  give_workspace(backend, arena);
  return arena.take(MemoryRole::workspace, backend.compute_type(), {positions, config.head_dim()},
                    {"rotary angles"});
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, Backend& backend, Arena& arena,
                         std::int64_t positions, DType activations, const LoraConfig& lora)
    : config_(config),
      lora_(lora),
      parameters_(config),
      adapters_(config, lora),
      backend_(backend),
      activations_(activations),
      rope_table_(take_rope_table(config, backend, arena, positions)),
      micro_batch_(arena.take(MemoryRole::batch, DType::i32, {4}, {"numbers of the micro-batch"})),
      layers_(static_cast<std::size_t>(config.layers)) {
  if (arena.recording()) return;
  if (backend.compute_type() == DType::f64) {
    upload_rope_table<double>(backend, rope_table_, config.rope_base);
  } else {
    upload_rope_table<float>(backend, rope_table_, config.rope_base);
  }
}

const ParameterList& Transformer::trained() const {
  if (frozen()) return adapters_;
  return parameters_;
}

void Transformer::begin_micro_batch(double gradient_scale, std::uint64_t micro_step) {
  const std::int64_t in_layer = 2 + (frozen() ? kLoraTargets : 0);
  const std::uint64_t streams = micro_step * static_cast<std::uint64_t>(in_layer * config_.layers);
  std::array<std::byte, 4 * sizeof(std::int32_t)> numbers{};
  const std::array<std::uint32_t, 2> words{static_cast<std::uint32_t>(streams),
                                           static_cast<std::uint32_t>(streams >> 32)};
  std::memcpy(numbers.data(), words.data(), sizeof(words));
  if (backend_.compute_type() == DType::f64) {
    std::memcpy(numbers.data() + sizeof(words), &gradient_scale, sizeof(gradient_scale));
  } else {
    const auto scale = static_cast<float>(gradient_scale);
    std::memcpy(numbers.data() + sizeof(words), &scale, sizeof(scale));
  }
  backend_.upload(micro_batch_, numbers);
}

Tensor Transformer::gradient_factor() const {
  const Tensor bits = micro_batch_.slice_rows(2, 2);
  return {bits.data, backend_.compute_type(), {1}};
}

Dropout Transformer::dropout_of(double rate, std::uint64_t seed, std::int64_t branch) const {
  if (rate == 0 || branch < 0) return {};
  return {.rate = static_cast<float>(rate),
          .seed = seed,
          .stream = static_cast<std::uint64_t>(branch),
          .stream_base = stream_base()};
}

void Transformer::embed(const ModelWeights& weights, const Tensor& tokens,
                        const Tensor& out) const {
  const int id = parameters_.embedding();
  const Tensor table = numbers(weights, id);
  if (table.present()) {
    backend_.run(Embedding{.table = table, .tokens = tokens, .out = out});
  } else {
    backend_.run(QuantisedEmbedding{.table = weights.placed[static_cast<std::size_t>(id)].blocks,
                                    .tokens = tokens,
                                    .out = out});
  }
}

Transformer::Forward Transformer::start_forward(const Tensor& tokens,
                                                const BlockProducts::Inputs& inputs, KeepLevel most,
                                                Arena& arena) const {
  const Shape shape{tokens.elements(), config_.width};
  const auto borrow = [&](const char* what) {
    return arena.borrow(MemoryRole::activations, activations_, shape, {what});
  };
  Forward forward{.arena = &arena,
                  .weights = inputs.weights,
                  .products = BlockProducts(parameters_, adapters_, backend_, arena, inputs),
                  .branch = borrow("block output")};
  if (most >= KeepLevel::no_residual) forward.spare[1] = borrow("middle residual");
  if (most >= KeepLevel::host_input) {
    forward.spare[0] = borrow("block input");
    forward.stream = forward.spare[0];
  } else {
    forward.stream = arena.take(MemoryRole::activations, activations_, shape, {"block input", 0});
  }
  embed(inputs.weights, tokens, forward.stream);
  return forward;
}

void Transformer::add_norm(Forward& forward, int weight, const Tensor& sum, const Tensor& out,
                           const Tensor& rstd, const Tensor& peak) const {
  AddNorm op{.input = forward.stream,
             .branch = {},
             .dropout = {},
             .weight = numbers(forward.weights, weight),
             .sum = {},
             .out = out,
             .rstd = rstd,
             .epsilon = static_cast<float>(config_.norm_epsilon),
             .peak = peak};
  if (forward.branch_pending) {
    op.branch = forward.branch;
    op.sum = sum;
    op.dropout = dropout_of(forward.dropout, forward.dropout_seed, forward.next_branch++);
    forward.stream = sum;
  }
  backend_.run(op);
  forward.branch_pending = false;
}

void Transformer::make_qkv(std::int64_t index, const ModelWeights& weights,
                           const BlockProducts& products, const LayerActivations& layer,
                           std::int64_t first_position) const {
  const LayerParameters& ids = parameters_.layer(index);
  const AttentionShape shape = config_.attention_shape(std::min(config_.context, layer.qkv.rows()));
  products.forward({index, BlockProduct::qkv}, layer.normed1,
                   config_.qk_norm ? layer.qkv_raw : layer.qkv);
  if (config_.qk_norm) {
    backend_.run(QkNorm{.shape = shape,
                        .qkv = layer.qkv_raw,
                        .q_weight = numbers(weights, ids.q_norm),
                        .k_weight = numbers(weights, ids.k_norm),
                        .out = layer.qkv,
                        .rstd = layer.qk_rstd,
                        .epsilon = static_cast<float>(config_.norm_epsilon)});
  }
  backend_.run(Rope{
      .shape = shape, .qkv = layer.qkv, .table = rope_table_, .first_position = first_position});
}

template <class Attend>
void Transformer::forward_layer(std::int64_t index, KeepLevel level, Forward& forward,
                                LayerActivations& layer, const Attend& attend) const {
  const LayerParameters& ids = parameters_.layer(index);
  const BlockProducts& products = forward.products;
  layer = place_layer(index, level, forward);

  add_norm(forward, ids.attention_norm, layer.sum1, layer.normed1, layer.rstd1,
           products.input_peak({index, BlockProduct::qkv}));
  // In the first layer nothing was added yet: the sum is the embedding's output.
  layer.sum1 = forward.stream;
  attend(index, layer);
  products.forward({index, BlockProduct::attention_out}, layer.attended, forward.branch);
  forward.branch_pending = true;

  add_norm(forward, ids.mlp_norm, layer.sum2, layer.normed2, layer.rstd2,
           products.input_peak({index, BlockProduct::up}));
  products.forward({index, BlockProduct::up}, layer.normed2, layer.pre);
  backend_.run(MlpActivation{.activation = config_.activation,
                             .pre = layer.pre,
                             .out = layer.hidden,
                             .peak = products.input_peak({index, BlockProduct::down})});
  products.forward({index, BlockProduct::down}, layer.hidden, forward.branch);
  forward.branch_pending = true;
  forward.arena->rewind_borrowed(layer.before);
}

void Transformer::train(const TrainPass& pass, Arena& arena) {
  const ArenaScope scope(arena);
  const std::int64_t rows = pass.batch.tokens.elements();
  const DType wide = backend_.compute_type();
  const auto borrow = [&](Shape shape, const char* what) {
    return arena.borrow(MemoryRole::activations, activations_, shape, {what});
  };
  arena.begin(Phase::forward);
  // The final norm's input becomes the stream's gradient, in place.
  const Tensor sum = borrow({rows, config_.width}, "last residual, then its gradient");
  const Tensor rstd = arena.borrow(MemoryRole::activations, wide, {rows}, {"last norm's scale"});
  const Arena::Mark before_layers = arena.mark();
  BlockProducts::Inputs inputs = without_dropout(pass.weights);
  inputs.fp8 = pass.fp8;
  inputs.adapter_dropout = dropout_of(lora_.dropout, pass.dropout_seed, 2 * config_.layers);
  Forward forward = start_forward(pass.batch.tokens, inputs, pass.recompute.most(), arena);
  forward.products.begin(pass.first_of_step);
  forward.dropout = config_.dropout;
  forward.dropout_seed = pass.dropout_seed;
  const AttentionShape shape = config_.attention_shape(config_.context);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    forward_layer(index, pass.recompute.of(index), forward,
                  layers_[static_cast<std::size_t>(index)],
                  [&](std::int64_t at, const LayerActivations& layer) {
                    if (pass.recompute.of(at) == KeepLevel::host_input) {
                      backend_.run(ToHost{.from = layer.sum1,
                                          .host = pass.host_inputs[static_cast<std::size_t>(at)]});
                    }
                    make_qkv(at, pass.weights, forward.products, layer, 0);
                    backend_.run(Attention{
                        .shape = shape,
                        .qkv = layer.qkv,
                        .document_starts = pass.batch.document_starts,
                        .out = layer.attended,
                        .lse = layer.lse,
                        .peak = forward.products.input_peak({at, BlockProduct::attention_out})});
                  });
  }
  const Arena::Mark after_layers = arena.mark();
  const Tensor normed =
      arena.take(MemoryRole::activations, activations_, {rows, config_.width}, {"last norm"});
  add_norm(forward, parameters_.final_norm(), sum, normed, rstd);
  arena.rewind_borrowed(before_layers);

  arena.begin(Phase::loss);
  Backward state{.arena = &arena,
                 .d_stream = sum,
                 .d_branch = sum,
                 .pass = &pass,
                 .products = forward.products};
  if (config_.dropout > 0) {
    state.d_branch = borrow({rows, config_.width}, "gradient of the block output");
  }
  state.norm_scratch =
      arena.borrow(MemoryRole::workspace, wide, {backend_.traits().reduction_parts, config_.width},
                   {"norm gradients' parts"});
  const ArenaScope head_scope(arena);
  const Tensor d_normed = borrow({rows, config_.width}, "gradient of the last norm");
  {
    const ArenaScope logits_scope(arena);
    if (!frozen())
      open_gradients(state, parameters_.range_of(parameters_.head()), pass.first_of_step, -1);
    const Tensor logits = arena.borrow(MemoryRole::logits, activations_,
                                       {std::min(rows, pass.head_chunk_tokens), config_.vocabulary},
                                       {"logits of a chunk"});
    backend_.run(HeadLoss{.x = normed,
                          .weight = numbers(pass.weights, parameters_.head()),
                          .targets = pass.batch.targets,
                          .losses = pass.losses,
                          .gradient_scale = 1,
                          .gradient_factor = gradient_factor(),
                          .d_x = d_normed,
                          .d_weight = gradient(state, parameters_.head()),
                          .logits = logits});
    if (!frozen()) close_gradients(state);
  }
  arena.rewind_taken(after_layers);
  backward(state, d_normed, rstd);
}

void Transformer::evaluate(const Batch& batch, const ModelWeights& weights, const Tensor& losses,
                           std::int64_t head_chunk_tokens, Arena& arena) const {
  const ArenaScope scope(arena);
  const std::int64_t rows = batch.tokens.elements();
  arena.begin(Phase::evaluation);
  Forward forward =
      start_forward(batch.tokens, without_dropout(weights), KeepLevel::nothing, arena);
  const AttentionShape shape = config_.attention_shape(config_.context);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    LayerActivations layer;
    forward_layer(index, KeepLevel::nothing, forward, layer,
                  [&](std::int64_t at, const LayerActivations& now) {
                    make_qkv(at, weights, forward.products, now, 0);
                    backend_.run(Attention{.shape = shape,
                                           .qkv = now.qkv,
                                           .document_starts = batch.document_starts,
                                           .out = now.attended,
                                           .lse = now.lse});
                  });
  }
  const Tensor normed = finish_forward(forward);
  const Tensor logits =
      arena.borrow(MemoryRole::logits, activations_,
                   {std::min(rows, head_chunk_tokens), config_.vocabulary}, {"logits of a chunk"});
  backend_.run(HeadLoss{.x = normed,
                        .weight = numbers(weights, parameters_.head()),
                        .targets = batch.targets,
                        .losses = losses,
                        .d_x = {},
                        .d_weight = {},
                        .logits = logits});
}

Tensor Transformer::finish_forward(Forward& forward) const {
  Arena& arena = *forward.arena;
  const Shape shape = forward.stream.shape;
  const Tensor normed = arena.borrow(MemoryRole::activations, activations_, shape, {"last norm"});
  const Tensor rstd = arena.borrow(MemoryRole::activations, backend_.compute_type(), {shape[0]},
                                   {"last norm's scale"});
  add_norm(forward, parameters_.final_norm(), forward.spare[0], normed, rstd);
  return normed;
}

void Transformer::decode(const Tensor& tokens, std::int64_t first_position,
                         const ModelWeights& weights, const KeyValueCache& cache,
                         const Tensor& logits, Arena& arena) const {
  const ArenaScope scope(arena);
  const std::int64_t rows = tokens.elements();
  Forward forward = start_forward(tokens, without_dropout(weights), KeepLevel::nothing, arena);
  const AttentionShape shape = config_.attention_shape(rows);
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    LayerActivations layer;
    forward_layer(
        index, KeepLevel::nothing, forward, layer,
        [&](std::int64_t at, const LayerActivations& now) {
          make_qkv(at, weights, forward.products, now, first_position);
          backend_.run(DecodeAttention{.shape = shape,
                                       .qkv = now.qkv,
                                       .key_cache = cache.keys[static_cast<std::size_t>(at)],
                                       .value_cache = cache.values[static_cast<std::size_t>(at)],
                                       .first_position = first_position,
                                       .out = now.attended});
        });
  }
  const Tensor normed = finish_forward(forward);
  forward.products.multiply(normed.slice_rows(rows - 1, 1), parameters_.head(), -1,
                            logits.reshaped({1, config_.vocabulary}));
}

}  // namespace athanor
