// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/thread_pool.h"

namespace athanor {

/// GFLOP/s of multiply-adds that touch registers only, on all threads of the pool at once: what a
/// product could reach at most, at this moment and clock.
double fma_peak_gflops(ThreadPool& pool);

}  // namespace athanor
