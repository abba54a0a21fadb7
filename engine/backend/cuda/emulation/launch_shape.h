// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

#include "engine/backend/cuda/emulation/call_site.h"
#include "engine/backend/cuda/emulation/vectors.h"

namespace athanor::cuda {

struct LaunchShape {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;  ///< dynamic
  /// The place that names this shape, for what the emulation has to say of it.
  emulation::CallSite site = emulation::CallSite::current();
};

}  // namespace athanor::cuda
