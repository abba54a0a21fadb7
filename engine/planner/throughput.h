// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>

#include "engine/planner/device_speed.h"
#include "engine/train/train_memory.h"

namespace athanor {

/// How fast a run is expected to go on a device.
struct Throughput {
  double step_seconds = 0;
  double tokens_per_second = 0;
  std::array<double, kOperations> seconds{};  ///< of the step, by Operation
};

Throughput predict_throughput(const TrainPlan& plan, const ModelConfig& model,
                              const TrainConfig& train, const DeviceSpeed& speed);

}  // namespace athanor
