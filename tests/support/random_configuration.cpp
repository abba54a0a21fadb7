// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/random_configuration.h"

#include "engine/base/philox.h"
#include "engine/model/recompute.h"

namespace athanor {

std::string Configuration::text() const {
  return std::to_string(model.layers) + "x" + std::to_string(model.width) + "/" +
         std::to_string(model.heads) + " B" + std::to_string(train.micro_batch) + " T" +
         std::to_string(model.context) + " S" + std::to_string(train.recompute_level) + "+" +
         std::to_string(train.recompute_further_layers) +
         (train.moments == Moments::eight_bit ? " 8-bit" : "") +
         (train.optimizer == Optimizer::muon ? " muon" : "") + " weights " +
         std::string(names_of(train.weights)[static_cast<std::size_t>(train.weights)]) +
         (train.gradients == Precision::bf16 ? " bf16 gradients" : "") +
         (train.activations == Precision::bf16 ? " bf16 activations" : "") +
         (train.offload_moments ? " moments off" : "") +
         (train.offload_master ? " master off" : "") +
         (train.offload_gradients ? " gradients off" : "");
}

Configuration random_configuration(std::uint64_t number) {
  std::uint64_t drawn = 0;
  const Philox random(77, number);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.word(drawn++) %
                                           static_cast<std::uint64_t>(high - low + 1));
  };
  Configuration made;
  ModelConfig& model = made.model;
  model.kv_heads = pick(1, 3);
  model.heads = model.kv_heads * pick(1, 3);
  model.width = model.heads * 2 * pick(4, 12);
  model.layers = pick(1, 4);
  model.ffn = pick(8, 100);
  model.context = pick(8, 40);
  model.vocabulary = pick(257, 400);
  model.activation = static_cast<Activation>(pick(0, 3));
  model.tied = pick(0, 1) == 1;
  model.biases = pick(0, 1) == 1;
  model.qk_norm = pick(0, 1) == 1;
  model.dropout = pick(0, 1) == 1 ? 0.1 : 0;
  TrainConfig& train = made.train;
  train.micro_batch = pick(1, 4);
  train.gradient_accumulation = pick(1, 3);
  train.head_chunk_tokens = pick(16, 64);
  train.recompute_level = pick(0, kKeepLevels - 1);
  if (train.recompute_level + 1 < kKeepLevels) {
    train.recompute_further_layers = pick(0, model.layers);
  }
  train.moments = static_cast<Moments>(pick(0, 1));
  train.weights = static_cast<WeightStorage>(pick(0, 3));
  train.gradients = static_cast<Precision>(pick(0, 1));
  train.activations = static_cast<Precision>(pick(0, 1));
  train.offload_moments = pick(0, 2) == 0;
  train.offload_gradients = pick(0, 2) == 0;
  train.offload_master = keeps_copy(train.weights) && pick(0, 1) == 0;
  if (train.moments == Moments::f32) train.optimizer = static_cast<Optimizer>(pick(0, 1));
  model.qkv_biases = pick(0, 1) == 1;
  model.head_size = pick(0, 1) * 2 * pick(4, 12);
  return made;
}

}  // namespace athanor
