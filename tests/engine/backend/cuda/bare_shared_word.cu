// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/device.h"

__global__ void bare_shared_word(float* out) {
  __shared__ float parts[32];
  parts[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = parts[31 - threadIdx.x];
}
