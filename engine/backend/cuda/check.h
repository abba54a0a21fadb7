// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime.h>

namespace athanor::cuda {

/// Throws what `result`, unless it is success, means for a person: "The card cannot <action>: …".
void check(cudaError_t result, const char* action);

}  // namespace athanor::cuda
