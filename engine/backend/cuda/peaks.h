// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/cuda/rows.h"

/// How kernels find the largest magnitude of what they write (Peak in operations.h). Magnitudes are
/// compared as bits, which have the same order and put what is not a number above all; so the
/// result does not depend on who comes first.
namespace athanor::cuda {

__device__ __forceinline__ std::uint32_t magnitude_bits(float x) {
  return __float_as_uint(x) & 0x7FFFFFFFU;
}

__device__ __forceinline__ std::uint32_t magnitude_bits(const Eight& eight) {
  std::uint32_t bits = 0;
  for (int i = 0; i < kEight; ++i)
    bits = max(bits, magnitude_bits(eight.at[i]));
  return bits;
}

/// Of numbers that are stored as bf16: rounding the largest is the same as rounding each.
__device__ __forceinline__ void raise_to(float* peak, std::uint32_t bits) {
  atomicMax(reinterpret_cast<unsigned*>(peak),
            __float_as_uint(to_float(to_bf16(__uint_as_float(bits)))));
}

/// All lanes call it. `peak` may be null, here and below.
__device__ __forceinline__ void raise_peak_by_warp(float* peak, std::uint32_t bits) {
  if (peak == nullptr) return;
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    bits = max(bits, __shfl_xor_sync(kAllLanes, bits, offset));
  if (threadIdx.x % kWarp == 0) raise_to(peak, bits);
}

/// All threads of the block call it, once; `of_warps` [kWarp] is shared memory.
__device__ __forceinline__ void raise_peak_by_block(float* peak, std::uint32_t bits,
                                                    std::uint32_t* of_warps) {
  if (peak == nullptr) return;
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    bits = max(bits, __shfl_xor_sync(kAllLanes, bits, offset));
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = bits;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (unsigned warp = 1; warp < blockDim.x / kWarp; ++warp)
    bits = max(bits, of_warps[warp]);
  raise_to(peak, bits);
}

/// As kernels take it.
inline float* peak_of(const Tensor& peak) {
  return peak.present() ? peak.as<float>() : nullptr;
}

}  // namespace athanor::cuda
