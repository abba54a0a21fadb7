// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/backend/plan/plan_backend.h"
#include "engine/model/model_config.h"
#include "engine/tensor/arena.h"
#include "engine/train/train_config.h"

namespace athanor {

/// What a run will take, found by running one micro-batch, one update, one evaluation and one
/// sample dry.
struct TrainPlan {
  Arena::Plan memory;                       ///< of the device
  Arena::Plan host;                         ///< what is offloaded
  std::vector<Arena::Record> buffers;       ///< in the order in which they are taken
  std::vector<Arena::Record> host_buffers;  ///< offloaded; they stay
  std::vector<Arena::PhaseStart> phases;
  std::int64_t moments = 0;             ///< takes and releases, of all buffers
  std::int64_t parameters = 0;          ///< of the model, adapters not counted
  std::int64_t trained_parameters = 0;  ///< adapters alone with TrainConfig::lora
  std::int64_t checkpoint_bytes = 0;    ///< tensors of one checkpoint on the disk
  /// Of one step: all its micro-batches and the update, by Operation.
  std::array<OperationCost, kOperations> step_costs;
  std::array<OperationCost, kOperations> update_costs;  ///< the update's share of them

  double step_flops() const;
  double step_bytes() const;
};

/// Throws invalid_argument for the first field that cannot be used.
void check_training(const ModelConfig& model, const TrainConfig& train);
/// The configuration with what the backend cannot store otherwise: on a card FP32 weights become
/// BF16 ones with an FP32 master, and rows of values BF16.
TrainConfig suited_to(const BackendTraits& traits, TrainConfig train);
/// Throws invalid_argument, naming the field, when the backend cannot run this.
void check_backend(const ModelConfig& model, const TrainConfig& train, const Backend& backend);
/// Throws as check_training() does, and for FP8 where a device of these traits has none.
TrainPlan plan_training(const ModelConfig& model, const TrainConfig& train,
                        const BackendTraits& traits);

/// The memory of a run: the device's, and the host tier, to which what is offloaded goes. For a CPU
/// that is a file, whose pages the system can write out.
struct TrainArenas {
  /// Both record.
  TrainArenas() = default;
  /// Both of the planned size, a file in `folder`. Throws io naming what cannot be had.
  TrainArenas(const TrainPlan& plan, Backend& backend, const std::filesystem::path& folder);

  Arena device;
  Arena host;
};

}  // namespace athanor
