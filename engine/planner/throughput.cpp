// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/planner/throughput.h"

#include <algorithm>

namespace athanor {
namespace {

/// What DeviceSpeed's samples of the operation are sorted by.
double size_of_call(Operation operation, const OperationCost& cost, const ModelConfig& model) {
  switch (operation) {
    case Operation::linear:
    case Operation::linear_backward:
    case Operation::linear_fp8:
    case Operation::linear_backward_fp8:
    case Operation::head_loss:
    case Operation::muon:
      return static_cast<double>(model.width);
    case Operation::attention:
    case Operation::attention_backward:
      return static_cast<double>(model.head_dim());
    default:
      return cost.bytes / static_cast<double>(cost.calls);
  }
}

double share_of(Operation operation, const OperationCost& part, const OperationCost& all) {
  const double work = work_of(operation, all);
  return work > 0 ? work_of(operation, part) / work : 0;
}

/// A part of a step: what is computed, and what is copied from and to the host for it.
struct Work {
  double compute_seconds = 0;
  double copy_seconds = 0;

  void add(Operation operation, double seconds) {
    // A share of nothing is nothing, even of copies that take forever.
    if (!(seconds > 0)) return;
    (is_host_copy(operation) ? copy_seconds : compute_seconds) += seconds;
  }
  /// What a device copies while it computes costs only what is left when it has computed.
  double seconds(bool copies_beside) const {
    return copies_beside ? std::max(compute_seconds, copy_seconds) : compute_seconds + copy_seconds;
  }
};

}  // namespace

Throughput predict_throughput(const TrainPlan& plan, const ModelConfig& model,
                              const TrainConfig& train, const DeviceSpeed& speed) {
  Throughput predicted;
  Work batches;
  Work update;
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    const OperationCost& all = plan.step_costs[static_cast<std::size_t>(i)];
    const OperationCost& last = plan.update_costs[static_cast<std::size_t>(i)];
    if (all.calls == 0) continue;
    const double seconds =
        speed.seconds(operation, all, size_of_call(operation, all, model), train.activations);
    predicted.seconds[static_cast<std::size_t>(i)] = seconds;
    const double share = share_of(operation, last, all);
    update.add(operation, seconds * share);
    batches.add(operation, seconds * (1 - share));
  }
  const bool beside = speed.traits().copies_beside;
  predicted.step_seconds = batches.seconds(beside) + update.seconds(beside);
  predicted.tokens_per_second =
      static_cast<double>(train.tokens_per_step(model.context)) / predicted.step_seconds;
  return predicted;
}

}  // namespace athanor
