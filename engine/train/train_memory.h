// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/io/weight_source.h"
#include "engine/model/loaded_weights.h"
#include "engine/model/transformer.h"
#include "engine/tensor/arena.h"
#include "engine/train/muon_scratch.h"
#include "engine/train/optimizer_state.h"
#include "engine/train/staging.h"
#include "engine/train/train_config.h"
#include "engine/train/train_plan.h"

namespace athanor {

/// Everything a training run keeps in memory, taken from its arenas in a fixed order. It and the
/// passes over it run dry first (plan_training); the real arenas then have exactly the recorded
/// sizes.
class TrainMemory {
 public:
  TrainMemory(const ModelConfig& model, const TrainConfig& train, Backend& backend,
              TrainArenas& arenas);

  Transformer& transformer() { return transformer_; }
  const Transformer& transformer() const { return transformer_; }
  /// What is trained: adapters alone with TrainConfig::lora.
  const ParameterList& parameters() const { return transformer_.trained(); }

  const OptimizerState& optimizer() const { return optimizer_; }
  /// Of the tensors that a run goes on from.
  std::int64_t checkpoint_bytes() const;

  Tensor weights;            ///< flat, like the next two and the gradients
  Tensor master;             ///< with WeightStorage::bf16_master
  Tensor low_bits;           ///< with WeightStorage::bf16_split
  Fp8Tensors fp8;            ///< with Products::fp8
  Tensor gradients;          ///< those of the present step
  Transformer::Batch batch;  ///< one micro-batch
  Tensor losses;             ///< [rows × context]

  /// Reads what is frozen, with TrainConfig::lora. Throws as LoadedWeights::load() does.
  void load_base(const WeightSource& source);
  /// Sets one parameter in all that its weights are kept as, its numbers rounded where they are.
  void set_weights(int parameter, std::span<const float> values);
  /// Zeroes a tensor of either arena before the first step.
  void clear(const Tensor& tensor);
  /// Copies to a tensor of either arena.
  void put(const Tensor& to, std::span<const std::byte> from);
  /// Copies from a tensor of either arena.
  void get(const Tensor& from, std::span<std::byte> to);

  /// One micro-batch forward and backward over the uploaded batch. The first of a step begins with
  /// gradients of zero.
  void train_micro_batch(double gradient_scale, std::uint64_t micro_step, bool first_of_step);
  /// Lets the backend record micro-batches, where it does, so that those that follow are replayed:
  /// the same bits. Micro-batches that copy between the tiers are not recorded: the copies take
  /// longer than what recording saves. Gives whether they will be replayed.
  bool record_micro_batches();
  /// Losses of the uploaded batch.
  void evaluate();
  /// What a sample of the text so far needs; taken from the arena, and given back by its scope.
  struct Decoding {
    Transformer::KeyValueCache cache;
    Tensor tokens;  ///< i32 [kSamplePositions]
    Tensor logits;  ///< [V]
  };
  /// Tokens of a sample at most, its prompt included.
  static constexpr std::int64_t kSamplePositions = 256;
  Decoding start_decoding();
  /// Runs the first `count` of `decoding.tokens`, which stand at first_position….
  void decode(const Decoding& decoding, std::int64_t count, std::int64_t first_position);
  /// Clips by the global norm and takes one step of the optimizer; returns the norm before
  /// clipping. Nothing is changed when the norm is not finite.
  double update(double learning_rate, std::int64_t step);

 private:
  /// Elements that are updated at a time: a part of one parameter, for Muon a whole matrix.
  struct Slice {
    std::size_t parameter = 0;
    std::int64_t first = 0;
    std::int64_t elements = 0;
    Shape matrix;  ///< empty for AdamW
  };
  /// A slice of everything that an update needs.
  struct SliceTensors {
    StoredWeights to;
    Tensor gradients;
    ParameterMoments moments;
  };

  void run_micro_batch(bool first_of_step);
  /// All that passes read.
  ModelWeights model_weights() const;
  void cut_slices();
  void cut_matrices(std::size_t parameter);
  std::int64_t most_staging_bytes() const;
  Tensor cut(const Tensor& flat, const Slice& slice) const;
  SliceTensors tensors_of(const Slice& slice) const;
  double gradient_norm(Staging& staging);
  /// Calls work(slice index, tensors on the device) for each slice; what it changes is taken back.
  template <class Bring, class Work>
  void for_slices(Staging& staging, const Bring& bring, const Work& work);
  void update_slice(const SliceTensors& on, const AdamWStep& at);
  void update_matrix(const Shape& matrix, const SliceTensors& on, const AdamWStep& at,
                     const MuonScratch& scratch);

  TrainConfig train_;
  Backend& backend_;
  TrainArenas& arenas_;
  Transformer transformer_;
  std::optional<LoadedWeights> base_;  ///< what is frozen
  OptimizerState optimizer_;
  std::vector<Tensor> host_inputs_;  ///< by layer; absent where the input stays on the device
  std::vector<Slice> slices_;
  std::int64_t staging_bytes_ = 0;  ///< of a half
  MuonScratch::Sizes muon_sizes_;
  std::unique_ptr<Recording> first_micro_batch_;  ///< of a step
  std::unique_ptr<Recording> later_micro_batch_;
};

}  // namespace athanor
