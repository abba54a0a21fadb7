// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/model_config.h"
#include "engine/model/parameters.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// A model on a backend: the training step, evaluation and decoding, each written once and run
/// either dry (PlanBackend, recording Arena) or for real. N is rows × context of the micro-batch.
class Transformer {
 public:
  /// Takes the rotary table from `arena` and fills it; `positions` rows are enough for every pass.
  Transformer(const ModelConfig& config, Backend& backend, Arena& arena, std::int64_t positions);

  const ModelConfig& config() const { return config_; }
  const ParameterTable& parameters() const { return parameters_; }

  struct Batch {
    Tensor tokens;           ///< i32 [N]
    Tensor targets;          ///< i32 [N], -1: not trained
    Tensor document_starts;  ///< i32 [N]
  };

  struct TrainPass {
    Batch batch;
    Tensor weights;    ///< flat
    Tensor gradients;  ///< flat, accumulated
    Tensor losses;     ///< [N]
    double gradient_scale = 0;
    std::int64_t head_chunk_tokens = 256;
    std::uint64_t dropout_seed = 0;
    /// Of this micro-batch among all of the run; with the seed it decides what is dropped.
    std::uint64_t micro_step = 0;
  };
  /// Losses of every token, and the gradients of gradient_scale · Σ losses added to `gradients`.
  void train(const TrainPass& pass, Arena& arena);

  /// Losses of every token, without dropout.
  void evaluate(const Batch& batch, const Tensor& weights, const Tensor& losses,
                std::int64_t head_chunk_tokens, Arena& arena) const;

  /// Keys and values of every layer for one sequence.
  struct KeyValueCache {
    std::vector<Tensor> keys;    ///< each [capacity, k]
    std::vector<Tensor> values;  ///< each [capacity, k]
  };
  KeyValueCache take_cache(std::int64_t capacity, Arena& arena) const;
  /// Runs n tokens that stand at first_position…; logits [V] are of the last one.
  void decode(const Tensor& tokens, std::int64_t first_position, const Tensor& weights,
              const KeyValueCache& cache, const Tensor& logits, Arena& arena) const;

 private:
  /// What a layer keeps for its backward direction; [N, …].
  struct LayerActivations {
    Tensor sum1;  ///< residual stream at the first norm; in layer 0 the embedding's output
    Tensor rstd1;
    Tensor normed1;
    Tensor qkv_raw;  ///< before QK-norm; absent without
    Tensor qk_rstd;  ///< absent without QK-norm
    Tensor qkv;
    Tensor attended;
    Tensor lse;
    Tensor sum2;  ///< residual stream at the second norm
    Tensor rstd2;
    Tensor normed2;
    Tensor pre;  ///< the MLP's inner layer before and after its activation
    Tensor hidden;
  };

  /// The state that walks up through the layers.
  struct Forward {
    Tensor weights;
    Tensor stream;  ///< [N, d] residual stream
    Tensor branch;  ///< [N, d] output of the last block, not yet added to the stream
    bool branch_pending = false;
    double dropout = 0;
    std::uint64_t dropout_seed = 0;
    std::uint64_t micro_step = 0;
    std::int64_t next_branch = 0;  ///< 2·layer for attention, 2·layer + 1 for the MLP
  };

  /// The state that walks down again.
  struct Backward {
    Tensor weights;
    Tensor gradients;
    Tensor document_starts;
    Tensor d_stream;      ///< [N, d]
    Tensor d_branch;      ///< [N, d]; d_stream itself without dropout
    Tensor norm_scratch;  ///< [kReductionParts, d]
    const TrainPass* pass = nullptr;
  };

  /// Without `sum1` where the stream at the first norm is already kept elsewhere.
  LayerActivations take_layer(std::int64_t rows, bool sum1, Arena& arena) const;
  Forward start_forward(const Tensor& tokens, const Tensor& weights, Arena& arena) const;
  template <class Attend>
  void forward_layer(std::int64_t index, Forward& forward, LayerActivations& layer,
                     const Attend& attend) const;
  void add_norm(Forward& forward, int weight, const Tensor& sum, const Tensor& out,
                const Tensor& rstd) const;
  Dropout dropout_of(double rate, std::uint64_t seed, std::uint64_t micro_step,
                     std::int64_t branch) const;
  void backward(const TrainPass& pass, const Tensor& d_normed, const Tensor& sum,
                const Tensor& rstd, Arena& arena) const;
  void backward_mlp(std::int64_t index, const Backward& state, Arena& arena) const;
  void backward_attention(std::int64_t index, const Backward& state, Arena& arena) const;
  void backward_norm(const Backward& state, const Tensor& d_out, const Tensor& d_residual,
                     const Tensor& sum, const Tensor& rstd, int weight, std::int64_t branch) const;

  ModelConfig config_;
  ParameterTable parameters_;
  Backend& backend_;
  Tensor rope_table_;  ///< [positions, head_dim]
  /// Views of the present step, kept here so that a step allocates nothing.
  std::vector<LayerActivations> layers_;
};

}  // namespace athanor
