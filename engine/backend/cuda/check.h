// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime.h>

namespace athanor::cuda {

/// Throws fault_error() of what `result` is, unless it is success. `action` is what was tried.
void check(cudaError_t result, const char* action);

}  // namespace athanor::cuda
