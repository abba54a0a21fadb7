// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/operations.h"
#include "engine/base/settings.h"

namespace athanor {

inline constexpr std::int64_t kMostHeads = 512;
inline constexpr std::int64_t kMostHeadDim = 256;
inline constexpr std::int64_t kLeastContext = 8;

/// The shape of a decoder-only transformer: RMSNorm before each block, rotary positions,
/// grouped-query attention, a gated or two-matrix MLP.
struct ModelConfig {
  std::int64_t vocabulary = 1024;
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 2;
  std::int64_t ffn = 384;  ///< width of the MLP's inner layer
  std::int64_t context = 128;
  Activation activation = Activation::swiglu;
  bool tied = true;         ///< the LM head is the embedding table
  bool biases = false;      ///< on the MLP's two projections
  bool qkv_biases = false;  ///< on queries, keys and values
  bool qk_norm = false;
  double dropout = 0;  ///< on both residual branches, while training
  double rope_base = 10000;
  double norm_epsilon = 1e-5;
  std::int64_t head_size = 0;  ///< elements of a head; 0: an equal share of the width

  std::int64_t head_dim() const { return head_size > 0 ? head_size : width / heads; }
  bool gated() const { return activation == Activation::swiglu; }
  /// Of the MLP before its activation.
  std::int64_t pre_width() const { return gated() ? 2 * ffn : ffn; }
  /// Attention over sequences of `sequence` rows.
  AttentionShape attention_shape(std::int64_t sequence) const {
    return {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim(), .sequence = sequence};
  }
};

template <class Visitor>
void visit_fields(ModelConfig& config, Visitor& visitor) {
  visitor("vocabulary", config.vocabulary, Bounds{257, 1 << 20});
  visitor("layers", config.layers, Bounds{1, 512});
  visitor("width", config.width, Bounds{8, 32768});
  visitor("heads", config.heads, Bounds{1, kMostHeads});
  visitor("kv_heads", config.kv_heads, Bounds{1, 512});
  visitor("ffn", config.ffn, Bounds{8, 131072});
  visitor("context", config.context, Bounds{kLeastContext, 131072});
  visitor("activation", config.activation);
  visitor("tied", config.tied);
  visitor("biases", config.biases);
  visitor("qkv_biases", config.qkv_biases);
  visitor("qk_norm", config.qk_norm);
  visitor("dropout", config.dropout, Bounds{0, 0.9});
  visitor("rope_base", config.rope_base, Bounds{1, 1e9});
  visitor("norm_epsilon", config.norm_epsilon, Bounds{1e-12, 1e-1});
  visitor("head_size", config.head_size, Bounds{0, kMostHeadDim});
}

/// Throws invalid_argument naming the field, with what would be possible, when the shape cannot be
/// built: a value out of bounds, an odd width, heads that do not divide it evenly where they have
/// no size of their own, heads of an odd size or wider than 256, kv_heads not dividing heads.
void check_model_config(const ModelConfig& config);

}  // namespace athanor
