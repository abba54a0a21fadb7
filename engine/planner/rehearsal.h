// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

#include "engine/base/cancel_token.h"
#include "engine/train/train_memory.h"

namespace athanor {

/// What a step really took.
struct Rehearsal {
  std::int64_t planned_bytes = 0;
  std::int64_t taken_bytes = 0;    ///< highest both ends of the arena stood; equals planned_bytes
  std::int64_t outside_bytes = 0;  ///< the process grew beside the arena: kernels' scratch, stacks
  double step_seconds = 0;
  double tokens_per_second = 0;
};

/// Runs the most expensive step there can be (every token visible to all behind it, none masked)
/// inside an arena of the planned size: one micro-batch to touch its memory, one to time, the
/// update and a validation batch; the step's time counts all its micro-batches. Throws as
/// check_training() does, io when the memory cannot be had, Cancelled. What is offloaded goes to a
/// file in `folder`.
Rehearsal rehearse(const ModelConfig& model, const TrainConfig& train, Backend& backend,
                   const std::filesystem::path& folder, const CancelToken& cancel);

}  // namespace athanor
