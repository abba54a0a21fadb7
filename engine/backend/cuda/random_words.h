// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/device.h"
#include "engine/base/philox.h"

namespace athanor::cuda {

/// Philox::word(): by choices, since registers have no index.
__device__ __forceinline__ std::uint32_t word_at(const Philox& words, std::uint64_t element) {
  const Philox::Block block = words.block(element / 4);
  const std::uint32_t even = element % 4 == 0 ? block[0] : block[2];
  const std::uint32_t odd = element % 4 == 1 ? block[1] : block[3];
  return element % 2 == 0 ? even : odd;
}

}  // namespace athanor::cuda
