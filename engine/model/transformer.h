// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/block_products.h"
#include "engine/model/model_config.h"
#include "engine/model/model_weights.h"
#include "engine/model/parameters.h"
#include "engine/model/recompute.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// A model on a backend: the training step, evaluation and decoding, each written once and run
/// either dry (PlanBackend, recording Arena) or for real. N is rows × context of the micro-batch.
class Transformer {
 public:
  /// Takes the rotary table from `arena` and fills it; `positions` rows are enough for every pass.
  /// What a token's rows of values are stored as is `activations`, bf16 or the compute type.
  /// With adapters beside the weights where `lora` has some.
  Transformer(const ModelConfig& config, Backend& backend, Arena& arena, std::int64_t positions,
              DType activations, const LoraConfig& lora = {});

  const ModelConfig& config() const { return config_; }
  const ParameterTable& parameters() const { return parameters_; }
  const AdapterTable& adapters() const { return adapters_; }
  /// What train() gives gradients of: the adapters where there are some, else all parameters.
  const ParameterList& trained() const;

  struct Batch {
    Tensor tokens;           ///< i32 [N]
    Tensor targets;          ///< i32 [N], -1: not trained
    Tensor document_starts;  ///< i32 [N]
  };

  struct TrainPass {
    Batch batch;
    ModelWeights weights;
    Tensor gradients;  ///< flat, of trained(), accumulated
    bool gradients_on_host = false;
    bool first_of_step = false;  ///< there are no gradients yet, whatever `gradients` holds
    /// In the host tier, for each layer [N, d]; of layers that keep their input elsewhere not used.
    std::span<const Tensor> host_inputs;
    Fp8Tensors fp8;  ///< absent: blocks multiply in the type of their rows
    Tensor losses;   ///< [N]
    std::int64_t head_chunk_tokens = 256;
    Recompute recompute;
    std::uint64_t dropout_seed = 0;
  };
  /// What the passes that follow differ in; it lies on the device, where a recorded pass reads it.
  /// `micro_step` counts the micro-batches of the run: with the seed it decides what is dropped.
  void begin_micro_batch(double gradient_scale, std::uint64_t micro_step);
  /// Losses of every token, and the gradients of gradient_scale · Σ losses added to `gradients`.
  void train(const TrainPass& pass, Arena& arena);

  /// Losses of every token, without dropout.
  void evaluate(const Batch& batch, const ModelWeights& weights, const Tensor& losses,
                std::int64_t head_chunk_tokens, Arena& arena) const;

  /// Keys and values of every layer for one sequence.
  struct KeyValueCache {
    std::vector<Tensor> keys;    ///< each [capacity, k]
    std::vector<Tensor> values;  ///< each [capacity, k]
  };
  KeyValueCache take_cache(std::int64_t capacity, Arena& arena) const;
  /// Runs n tokens that stand at first_position…; logits [V] are of the last one.
  void decode(const Tensor& tokens, std::int64_t first_position, const ModelWeights& weights,
              const KeyValueCache& cache, const Tensor& logits, Arena& arena) const;

 private:
  /// What a layer computes, all [N, …]; how much of it is kept depends on its level.
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
    Arena::Mark before;  ///< anything of this layer was taken
  };

  /// The state that walks up through the layers.
  struct Forward {
    Arena* arena = nullptr;
    ModelWeights weights;
    BlockProducts products;
    Tensor stream;    ///< [N, d] residual stream
    Tensor branch;    ///< [N, d] output of the last block, not yet added to the stream
    Tensor spare[2];  ///< [N, d] where the stream at the first and second norm goes if not kept
    bool branch_pending = false;
    double dropout = 0;
    std::uint64_t dropout_seed = 0;
    std::int64_t next_branch = 0;  ///< 2·layer for attention, 2·layer + 1 for the MLP
  };

  /// The state that walks down again.
  struct Backward {
    Arena* arena = nullptr;
    Tensor d_stream;        ///< [N, d]
    Tensor d_branch;        ///< [N, d]; d_stream itself without dropout
    Tensor norm_scratch;    ///< [BackendTraits::reduction_parts, d]
    Tensor host_inputs[2];  ///< [N, d] block inputs from the host tier, of even and of odd layers
    const TrainPass* pass = nullptr;
    BlockProducts products;
    OpenGradients open;
  };

  /// Takes what `level` keeps and borrows the rest.
  LayerActivations place_layer(std::int64_t index, KeepLevel level, const Forward& forward) const;
  Forward start_forward(const Tensor& tokens, const BlockProducts::Inputs& inputs, KeepLevel most,
                        Arena& arena) const;
  BlockProducts::Inputs without_dropout(const ModelWeights& weights) const {
    return {.weights = weights, .adapter_scale = static_cast<float>(lora_.scale())};
  }
  bool frozen() const { return adapters_.present(); }
  /// Of one of the model's own parameters; absent where they are frozen.
  Tensor gradient(const Backward& state, int index) const {
    return frozen() ? Tensor() : state.open.of(parameters_, index);
  }
  /// A parameter that is never quantised.
  Tensor numbers(const ModelWeights& weights, int id) const {
    return weights.numbers(parameters_, id);
  }
  void embed(const ModelWeights& weights, const Tensor& tokens, const Tensor& out) const;
  template <class Attend>
  void forward_layer(std::int64_t index, KeepLevel level, Forward& forward, LayerActivations& layer,
                     const Attend& attend) const;
  void make_qkv(std::int64_t index, const ModelWeights& weights, const BlockProducts& products,
                const LayerActivations& layer, std::int64_t first_position) const;
  /// The last norm of a pass without backward direction.
  Tensor finish_forward(Forward& forward) const;
  void add_norm(Forward& forward, int weight, const Tensor& sum, const Tensor& out,
                const Tensor& rstd, const Tensor& peak = {}) const;
  Dropout dropout_of(double rate, std::uint64_t seed, std::int64_t branch) const;
  /// Views of micro_batch_.
  Tensor stream_base() const { return micro_batch_.slice_rows(0, 2); }
  Tensor gradient_factor() const;

  /// Makes the gradients of `range` ready to be added to: zeroed when `fresh`, and brought to the
  /// device when they are not there. They stay until close_gradients(), which takes them back.
  /// Nothing of both where those are frozen.
  void open_gradients(Backward& state, const ParameterRange& range, bool fresh,
                      std::int64_t layer) const;
  void close_gradients(const Backward& state) const;
  void fetch_input(const Backward& state, std::int64_t index) const;

  void backward(Backward& state, const Tensor& d_normed, const Tensor& rstd) const;
  void backward_layer(std::int64_t index, Backward& state) const;
  void backward_mlp(std::int64_t index, const Backward& state, LayerActivations& layer) const;
  /// Whether gelu's backward direction is part of the product before it.
  bool slope_in_product(const Backward& state) const;
  /// Through the MLP's second product and its activation, to the gradient at the activation's
  /// input: in place of that or, with gelu, borrowed.
  Tensor backward_activation(std::int64_t index, const Backward& state,
                             LayerActivations& layer) const;
  void backward_attention(std::int64_t index, const Backward& state,
                          const LayerActivations& layer) const;
  void backward_norm(const Backward& state, const Tensor& d_out, const Tensor& d_residual,
                     const Tensor& sum, const Tensor& rstd, int weight, std::int64_t branch) const;
  void recompute_qkv(std::int64_t index, const Backward& state, LayerActivations& layer) const;
  void recompute_attended(std::int64_t index, const Backward& state, LayerActivations& layer) const;
  void recompute_residual(std::int64_t index, const Backward& state, LayerActivations& layer) const;
  /// Residual, norm and product as far as the layer's level dropped them.
  void recompute_mlp_input(std::int64_t index, const Backward& state,
                           LayerActivations& layer) const;
  Tensor norm_again(const Backward& state, const Tensor& sum, const Tensor& rstd, int weight,
                    BufferName name) const;

  ModelConfig config_;
  LoraConfig lora_;
  ParameterTable parameters_;
  AdapterTable adapters_;
  Backend& backend_;
  DType activations_;
  Tensor rope_table_;   ///< [positions, head_dim]
  Tensor micro_batch_;  ///< i32 [4]: what is added to dropout's streams; bits of the gradient scale
  /// Views of the present step, kept here so that a step allocates nothing.
  std::vector<LayerActivations> layers_;
};

}  // namespace athanor
