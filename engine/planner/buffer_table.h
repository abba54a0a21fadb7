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

/// The layer that the step works on then, from 0: while it goes forward and backward, the last one
/// that has buffers; −1 where there is none.
std::int64_t layer_at(const TrainPlan& plan, std::int64_t moment);

/// Buffers of the same kind, one for each layer, as one.
struct BufferGroup {
  std::string name;  ///< of a single buffer with its layer
  MemoryRole role = MemoryRole::workspace;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// By kind, the largest first.
std::vector<BufferGroup> groups_of(const std::vector<Arena::Record>& buffers);

/// A line of names, then a line for each buffer (RFC 4180): name, role, in memory or in a file,
/// bytes, first and last moment, and whether it is alive at the peak.
std::string buffer_table_csv(const TrainPlan& plan);

}  // namespace athanor
