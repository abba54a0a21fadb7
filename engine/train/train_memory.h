// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/plan/plan_backend.h"
#include "engine/model/transformer.h"
#include "engine/tensor/arena.h"
#include "engine/train/optimizer_state.h"
#include "engine/train/train_config.h"

namespace athanor {

/// Everything a training run keeps in memory, taken from one arena in a fixed order. `Memory` and
/// the passes over it run dry first; the real arena then has exactly the recorded size.
class TrainMemory {
 public:
  TrainMemory(const ModelConfig& model, const TrainConfig& train, Backend& backend, Arena& arena);

  Transformer& transformer() { return transformer_; }
  const Transformer& transformer() const { return transformer_; }
  const ParameterTable& parameters() const { return transformer_.parameters(); }

  const OptimizerState& optimizer() const { return optimizer_; }

  Tensor weights;  ///< flat, like the next
  Tensor gradients;
  Transformer::Batch batch;  ///< one micro-batch
  Tensor losses;             ///< [rows × context]

  /// One micro-batch forward and backward over the uploaded batch.
  void train_micro_batch(double gradient_scale, std::uint64_t micro_step);
  /// Losses of the uploaded batch.
  void evaluate();
  /// Clips by the global norm and takes one AdamW step; returns the norm before clipping. Nothing
  /// is changed when the norm is not finite.
  double update(double learning_rate, std::int64_t step);

 private:
  void update_parameter(std::size_t index, double learning_rate, double scale, std::int64_t step);

  TrainConfig train_;
  Backend& backend_;
  Arena& arena_;
  Transformer transformer_;
  OptimizerState optimizer_;
};

/// What a run will take, found by running one micro-batch, one update and one evaluation dry.
struct TrainPlan {
  Arena::Plan memory;
  std::vector<Arena::Record> buffers;  ///< in the order in which they are taken
  std::vector<Arena::PhaseStart> phases;
  std::int64_t moments = 0;  ///< takes and releases, of all buffers
  std::int64_t parameters = 0;
  /// Of one step: all its micro-batches and the update, by Operation.
  std::array<OperationCost, kOperations> step_costs;

  double step_flops() const;
  double step_bytes() const;
};

/// Throws invalid_argument for the first field that cannot be used.
void check_training(const ModelConfig& model, const TrainConfig& train);
/// Throws as check_training() does.
TrainPlan plan_training(const ModelConfig& model, const TrainConfig& train, DType compute_type);

}  // namespace athanor
