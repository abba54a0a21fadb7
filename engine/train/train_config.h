// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/base/settings.h"
#include "engine/model/lora_config.h"

namespace athanor {

/// How the learning rate moves over a run; each begins with a warm-up.
enum class Schedule {
  one_cycle,  ///< cosine up from a 25th, cosine down to nearly nothing (Smith and Topin, 2017)
  cosine,     ///< linear up, cosine down to min_rate_ratio (Loshchilov and Hutter, 2016)
  linear,     ///< linear up, linear down to min_rate_ratio
  warmup_stable_decay,  ///< linear up, flat, linear down over the last fifth (Hu et al., 2024)
  constant,             ///< linear up, flat
};
constexpr std::array<std::string_view, 5> names_of(Schedule) {
  return {"one_cycle", "cosine", "linear", "warmup_stable_decay", "constant"};
}

/// What changes the matrices of the layers; all else is AdamW's (Loshchilov and Hutter, 2017).
enum class Optimizer {
  adamw,
  muon,  ///< Jordan et al., 2024: every singular value of a step is brought near 1
};
constexpr std::array<std::string_view, 2> names_of(Optimizer) {
  return {"adamw", "muon"};
}

/// In what AdamW's two moments are kept.
enum class Moments {
  f32,
  eight_bit,  ///< of the large matrices; the rest stays FP32 (OptimizerState)
};
constexpr std::array<std::string_view, 2> names_of(Moments) {
  return {"f32", "8bit"};
}

/// In what weights are kept between steps.
enum class WeightStorage {
  f32,
  bf16_master,      ///< bf16 beside an FP32 copy that AdamW goes on from
  bf16_split,       ///< bf16 beside the lower half of that copy: the same bits in less memory
  bf16_stochastic,  ///< bf16 alone, rounded at random
};
constexpr std::array<std::string_view, 4> names_of(WeightStorage) {
  return {"f32", "bf16_master", "bf16_split", "bf16_stochastic"};
}

/// Whether something is kept beside the weights that they are rounded from.
constexpr bool keeps_copy(WeightStorage storage) {
  return storage == WeightStorage::bf16_master || storage == WeightStorage::bf16_split;
}

/// In what other tensors are kept.
enum class Precision { f32, bf16 };
constexpr std::array<std::string_view, 2> names_of(Precision) {
  return {"f32", "bf16"};
}

/// In what the four products of each block are made, in training; sums are FP32 all the same.
enum class Products {
  as_stored,  ///< in the type of the rows of values
  fp8,        ///< in E4M3, with one scale for a matrix; needs a card that can
};
constexpr std::array<std::string_view, 2> names_of(Products) {
  return {"as_stored", "fp8"};
}

struct TrainConfig {
  std::int64_t steps = 1000;
  std::int64_t micro_batch = 16;           ///< sequences at a time
  std::int64_t gradient_accumulation = 1;  ///< micro-batches per step
  Schedule schedule = Schedule::one_cycle;
  double learning_rate = 1e-3;  ///< at its highest
  double warmup_fraction = 0.05;
  double min_rate_ratio = 0.1;
  Optimizer optimizer = Optimizer::adamw;
  double muon_momentum = 0.95;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  ///< 0: gradients are not clipped
  std::int64_t seed = 1;
  std::int64_t evaluation_interval = 100;     ///< steps; 0: only at the end
  std::int64_t evaluation_tokens = 65536;     ///< at most, per evaluation; 0: all held-out tokens
  std::int64_t checkpoint_interval = 200;     ///< steps; 0: only at the end
  double checkpoint_minutes = 10;             ///< saved when the last save is so long ago; 0: never
  bool checkpoint_before_evaluation = false;  ///< saved before each evaluation
  std::int64_t kept_checkpoints = 3;          ///< the newest; the best is kept besides
  std::int64_t kept_interval = 0;        ///< those of steps that are multiples of it stay; 0: none
  std::int64_t head_chunk_tokens = 256;  ///< tokens whose logits exist at a time
  std::int64_t recompute_level = 0;      ///< 0 keeps everything … 7 keeps nothing (KeepLevel)
  std::int64_t recompute_further_layers = 0;  ///< from the first: these drop one level more
  Moments moments = Moments::f32;
  WeightStorage weights = WeightStorage::f32;
  Precision gradients = Precision::f32;
  Precision activations = Precision::f32;  ///< of each token, and their gradients
  Products products = Products::as_stored;
  /// What lies in the host tier between its uses; the same bits, slower.
  bool offload_moments = false;
  bool offload_master = false;  ///< what `weights` keeps beside bf16
  bool offload_gradients = false;
  LoraConfig lora;

  std::int64_t tokens_per_step(std::int64_t context) const {
    return micro_batch * gradient_accumulation * context;
  }
};

template <class Visitor>
void visit_fields(TrainConfig& config, Visitor& visitor) {
  visitor("steps", config.steps, Bounds{1, 1e9});
  visitor("micro_batch", config.micro_batch, Bounds{1, 4096});
  visitor("gradient_accumulation", config.gradient_accumulation, Bounds{1, 4096});
  visitor("schedule", config.schedule);
  visitor("learning_rate", config.learning_rate, Bounds{1e-12, 1e12});
  visitor("warmup_fraction", config.warmup_fraction, Bounds{0, 1});
  visitor("min_rate_ratio", config.min_rate_ratio, Bounds{0, 1});
  visitor("optimizer", config.optimizer);
  visitor("muon_momentum", config.muon_momentum, Bounds{0, 0.9999});
  visitor("beta1", config.beta1, Bounds{0, 0.99999});
  visitor("beta2", config.beta2, Bounds{0, 0.999999});
  visitor("epsilon", config.epsilon, Bounds{1e-16, 1});
  visitor("weight_decay", config.weight_decay, Bounds{0, 10});
  visitor("clip_norm", config.clip_norm, Bounds{0, 1e9});
  visitor("seed", config.seed, Bounds{0, 9e15});
  visitor("evaluation_interval", config.evaluation_interval, Bounds{0, 1e9});
  visitor("evaluation_tokens", config.evaluation_tokens, Bounds{0, 1e12});
  visitor("checkpoint_interval", config.checkpoint_interval, Bounds{0, 1e9});
  visitor("checkpoint_minutes", config.checkpoint_minutes, Bounds{0, 1e6});
  visitor("checkpoint_before_evaluation", config.checkpoint_before_evaluation);
  visitor("kept_checkpoints", config.kept_checkpoints, Bounds{1, 1000});
  visitor("kept_interval", config.kept_interval, Bounds{0, 1e9});
  visitor("head_chunk_tokens", config.head_chunk_tokens, Bounds{16, 65536});
  visitor("recompute_level", config.recompute_level, Bounds{0, 7});
  visitor("recompute_further_layers", config.recompute_further_layers, Bounds{0, 512});
  visitor("moments", config.moments);
  visitor("weights", config.weights);
  visitor("gradients", config.gradients);
  visitor("activations", config.activations);
  visitor("products", config.products);
  visitor("offload_moments", config.offload_moments);
  visitor("offload_master", config.offload_master);
  visitor("offload_gradients", config.offload_gradients);
  visit_fields(config.lora, visitor);
}

/// The learning rate of step `step`, counted from 1 to config.steps.
double learning_rate_at(const TrainConfig& config, std::int64_t step);

}  // namespace athanor
