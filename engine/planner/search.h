// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "engine/planner/throughput.h"

namespace athanor {

/// One way to train the same model with the same sequences in each step.
struct Proposal {
  TrainConfig train;
  std::int64_t peak_bytes = 0;
  Throughput speed;
  std::array<std::int64_t, kMemoryRoles> by_role{};  ///< of the peak
};

/// What a search found within its budget: the fastest way, the one that needs the least memory, and
/// the leanest of those nearly as fast as the fastest. All three may be the same.
struct Proposals {
  std::optional<Proposal> fastest;  ///< absent, like the next, when nothing fits
  std::optional<Proposal> balanced;
  Proposal leanest;  ///< also when it does not fit
  /// What most of the leanest way's memory is for: the constraint that binds when nothing fits.
  MemoryRole binding = MemoryRole::weights;
};

/// A way at least this share as fast as the fastest is nearly as fast.
inline constexpr double kNearlyAsFast = 0.92;

/// Varies micro-batch and accumulation at a fixed product, the recomputation of each layer, the
/// head's chunk and, where memory binds, what is offloaded; nothing that changes what is computed.
/// The others offload only if the fastest does.
/// `traits` are those of the backend that `speed` is of. Throws as check_training() does.
Proposals search_plans(const ModelConfig& model, const TrainConfig& train, const DeviceSpeed& speed,
                       std::int64_t budget_bytes, const BackendTraits& traits);

/// "micro-batch 4 × 8, recomputes norms and activations": what differs between ways, for a person.
std::string describe(const Proposal& proposal, const ModelConfig& model);

}  // namespace athanor
