// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A plan's memory as segments of a memory bar, in the order and colours of the design.

#include <array>

#include "engine/tensor/arena.h"
#include "widgets/memory_bar.h"

namespace athanor {

/// `bytes` by MemoryRole. Their sum is the segments' sum.
QVector<MemorySegment> segmentsOf(const std::array<std::int64_t, kMemoryRoles>& bytes);

}  // namespace athanor
