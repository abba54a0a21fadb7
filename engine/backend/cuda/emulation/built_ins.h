// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/cuda/emulation/vectors.h"

namespace athanor::cuda::emulation {

struct BuiltIns {
  uint3 thread_index = {};
  uint3 block_index = {};
  dim3 block_size;
  dim3 grid_size;
};

/// Of the thread that runs; each switch sets it.
inline constinit thread_local BuiltIns built_ins;

inline const BuiltIns& current_built_ins() {
  return built_ins;
}

}  // namespace athanor::cuda::emulation

#define threadIdx (::athanor::cuda::emulation::current_built_ins().thread_index)
#define blockIdx (::athanor::cuda::emulation::current_built_ins().block_index)
#define blockDim (::athanor::cuda::emulation::current_built_ins().block_size)
#define gridDim (::athanor::cuda::emulation::current_built_ins().grid_size)

inline constexpr int warpSize = 32;
