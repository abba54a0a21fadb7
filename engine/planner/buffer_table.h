// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

#include "engine/train/train_memory.h"

namespace athanor {

/// Bytes alive from a moment on.
struct MemoryMoment {
  std::int64_t moment = 0;
  std::int64_t bytes = 0;
};

/// How memory rises and falls over one micro-batch, update and evaluation; one entry for each take
/// or release of a buffer.
std::vector<MemoryMoment> memory_timeline(const TrainPlan& plan);

/// The phase that a moment lies in.
Phase phase_at(const TrainPlan& plan, std::int64_t moment);

/// Buffers alive at `moment`, in the order in which they were taken.
std::vector<Arena::Record> buffers_at(const TrainPlan& plan, std::int64_t moment);

/// A line of names, then a line for each buffer: name, role, bytes, first moment, last moment, and
/// whether it is alive at the peak (RFC 4180).
std::string buffer_table_csv(const TrainPlan& plan);

}  // namespace athanor
