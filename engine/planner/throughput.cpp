// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/throughput.h"

namespace athanor {
namespace {

/// What DeviceSpeed's samples of the operation are sorted by.
double size_of_call(Operation operation, const OperationCost& cost, const ModelConfig& model) {
  switch (operation) {
    case Operation::linear:
    case Operation::linear_backward:
    case Operation::head_loss:
      return static_cast<double>(model.width);
    case Operation::attention:
    case Operation::attention_backward:
      return static_cast<double>(model.head_dim());
    default:
      return cost.bytes / static_cast<double>(cost.calls);
  }
}

}  // namespace

Throughput predict_throughput(const TrainPlan& plan, const ModelConfig& model,
                              const TrainConfig& train, const DeviceSpeed& speed) {
  Throughput predicted;
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationCost& cost = plan.step_costs[static_cast<std::size_t>(i)];
    if (cost.calls == 0) continue;
    const double seconds = speed.seconds(operation, cost, size_of_call(operation, cost, model));
    predicted.seconds[static_cast<std::size_t>(i)] = seconds;
    predicted.step_seconds += seconds;
  }
  predicted.tokens_per_second =
      static_cast<double>(train.tokens_per_step(model.context)) / predicted.step_seconds;
  return predicted;
}

}  // namespace athanor
