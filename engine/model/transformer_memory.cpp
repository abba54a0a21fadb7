// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/transformer.h"

/// What a transformer's passes keep in an arena.
namespace athanor {

Transformer::LayerActivations Transformer::place_layer(std::int64_t index, KeepLevel level,
                                                       const Forward& forward) const {
  Arena& arena = *forward.arena;
  const std::int64_t rows = forward.stream.rows();
  const AttentionShape attention = config_.attention_shape(config_.context);
  const auto place_as = [&](DType type, KeepLevel dropped_from, const char* what, Shape shape) {
    return level >= dropped_from ? arena.borrow(MemoryRole::activations, type, shape, {what, index})
                                 : arena.take(MemoryRole::activations, type, shape, {what, index});
  };
  const auto place = [&](KeepLevel dropped_from, const char* what, Shape shape) {
    return place_as(activations_, dropped_from, what, shape);
  };
  const auto place_statistics = [&](KeepLevel dropped_from, const char* what, Shape shape) {
    return place_as(backend_.compute_type(), dropped_from, what, shape);
  };
  LayerActivations layer;
  layer.before = arena.mark();
  if (level >= KeepLevel::host_input) {
    layer.sum1 = forward.spare[0];
  } else if (index > 0) {
    layer.sum1 = place(KeepLevel::nothing, "block input", {rows, config_.width});
  }
  layer.rstd1 = place_statistics(KeepLevel::nothing, "first norm's scale", {rows});
  layer.normed1 = place(KeepLevel::no_norms, "first norm", {rows, config_.width});
  if (config_.qk_norm) {
    layer.qkv_raw = place(KeepLevel::no_qkv, "QKV before its norm", {rows, attention.qkv_width()});
    layer.qk_rstd = place_statistics(KeepLevel::no_qkv, "QK-norm's scales",
                                     {rows, attention.heads + attention.kv_heads});
  }
  layer.qkv = place(KeepLevel::no_qkv, "QKV", {rows, attention.qkv_width()});
  layer.attended = place(KeepLevel::block_input, "attention", {rows, attention.query_width()});
  layer.lse =
      place_statistics(KeepLevel::block_input, "attention's log-sums", {rows, attention.heads});
  layer.sum2 = level >= KeepLevel::no_residual
                   ? forward.spare[1]
                   : place(KeepLevel::no_residual, "middle residual", {rows, config_.width});
  layer.rstd2 = place_statistics(KeepLevel::no_residual, "second norm's scale", {rows});
  layer.normed2 = place(KeepLevel::no_norms, "second norm", {rows, config_.width});
  layer.pre = place(KeepLevel::no_mlp_product, "MLP product", {rows, config_.pre_width()});
  layer.hidden = place(KeepLevel::no_activation, "MLP activation", {rows, config_.ffn});
  return layer;
}

Transformer::KeyValueCache Transformer::take_cache(std::int64_t capacity, Arena& arena) const {
  const std::int64_t key_width = config_.attention_shape(1).key_width();
  KeyValueCache cache;
  for (std::int64_t index = 0; index < config_.layers; ++index) {
    for (auto& [side, what] :
         {std::pair{&cache.keys, "keys"}, std::pair{&cache.values, "values"}}) {
      side->push_back(
          arena.take(MemoryRole::workspace, activations_, {capacity, key_width}, {what, index}));
    }
  }
  return cache;
}

}  // namespace athanor
