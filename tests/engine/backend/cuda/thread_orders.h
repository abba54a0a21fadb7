// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "engine/backend/cuda/emulation/options.h"

namespace athanor::cuda {

/// The orders of threads in which each kernel is tested.
inline std::vector<emulation::Options> thread_orders() {
  using emulation::ThreadOrder;
  return {{.order = ThreadOrder::forward},
          {.order = ThreadOrder::reverse},
          {.order = ThreadOrder::random, .seed = 1},
          {.order = ThreadOrder::random, .seed = 2}};
}

}  // namespace athanor::cuda
