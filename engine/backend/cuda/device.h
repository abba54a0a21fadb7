// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

/// All the CUDA C++ that a kernel may use: what nvcc compiles for a card is compiled as plain C++
/// for tests, where emulation/emulation.h stands in for the card. So kernels keep a contract:
/// - shared memory only by the two macros, launches only by launch(), PTX only in this file;
/// - no return before a barrier, and all threads of a block reach the same barriers;
/// - blocks of whole warps, and warp functions with all 32 lanes;
/// - fmaf where bits must be the same on every device.

#include <cstdint>

#include "engine/backend/cuda/stream.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

#ifdef __CUDACC__

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "engine/backend/cuda/check.h"

/// ATHANOR_SHARED(float, parts, [32][8]); is memory that the threads of a block share.
#define ATHANOR_SHARED(type, name, extents) __shared__ __align__(16) type name extents
/// The dynamic shared memory that the launch asked for.
#define ATHANOR_DYNAMIC_SHARED(type, name)                                        \
  extern __shared__ __align__(128) unsigned char athanor_dynamic_shared_memory[]; \
  type* const name = reinterpret_cast<type*>(athanor_dynamic_shared_memory)

namespace athanor::cuda {

struct LaunchShape {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;  ///< dynamic
};

/// Runs `kernel` after all that `stream` was given before. Throws what launch errors mean.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, Stream stream,
            const Arguments&... arguments) {
  if (shape.shared_bytes > 0) {
    // Static shared memory counts to the usual limit as well, and unasked the card keeps more of
    // its fast memory for its cache than lets several blocks run side by side.
    const auto set = [&](cudaFuncAttribute attribute, int value) {
      check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value),
            "give a kernel its shared memory");
    };
    set(cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    set(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  }
  kernel<<<shape.blocks, shape.threads, shape.shared_bytes, stream>>>(
      static_cast<Parameters>(arguments)...);
  check(cudaGetLastError(), "launch a kernel");
}

__device__ __forceinline__ float to_float(Bf16 x) {
  return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16);
}

__device__ __forceinline__ float to_float(F16 x) {
  return __half2float(__ushort_as_half(x.bits));
}

/// The nearest, of two equally near the even one.
__device__ __forceinline__ Bf16 to_bf16(float x) {
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
}

/// Two rounded numbers in one register, `low` in the lower half.
__device__ __forceinline__ std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// The E4M3 code nearest to x, saturated at ±448 (Micikevicius et al., 2022).
__device__ __forceinline__ std::uint8_t to_e4m3(float x) {
  return static_cast<std::uint8_t>(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3));
}

/// d += a · b over the warp, a [16, 16] by rows, b [16, 8] by columns, d [16, 8], in the fragment
/// layout of mma.m16n8k16 (PTX ISA, section 9.7.14).
__device__ __forceinline__ void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Four 8 × 8 matrices of 16-bit numbers: lane l gives the address of row l % 8 of matrix l / 8, 16
/// bytes that begin on a multiple of 16, and gets of each matrix elements 2·(l % 4) and the next of
/// row l / 4.
__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// The same of the transposed matrices: a lane gets rows 2·(l % 4) and the next of column l / 4.
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&to)[4],
                                                         const void* shared_row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// Begins to copy 16 bytes to shared memory, or zeros when not `present` (then nothing is read).
/// Both addresses are multiples of 16.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global,
                                              bool present = true) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global),
               "r"(present ? 16 : 0)
               : "memory");
}

/// Ends a group of this thread's copies.
__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most the latest `kPending` groups of this thread are on their way. Other threads
/// see what was copied after the next barrier.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// A barrier of the block's first `threads` that call with this `id`, 1 to 15; a multiple of 32.
__device__ __forceinline__ void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace athanor::cuda

#else

#include "engine/backend/cuda/emulation/emulation.h"

#endif

namespace athanor::cuda {

inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;
inline constexpr int kWarp = 32;

}  // namespace athanor::cuda
