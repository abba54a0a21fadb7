// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/launch.h"

#include "engine/backend/cuda/emulation/block.h"

namespace athanor::cuda::emulation {

void run_grid(const LaunchShape& shape, void (*call)(const void* arguments),
              const void* arguments) {
  Block::of_this_host_thread().run_grid(shape, {.call = call, .arguments = arguments});
}

}  // namespace athanor::cuda::emulation
