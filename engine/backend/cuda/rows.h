// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/backend/cuda/device.h"
#include "engine/tensor/tensor.h"

/// How kernels read and write rows of numbers, eight at a time, and add up over a warp or a block.
namespace athanor::cuda {

inline constexpr int kEight = 8;

/// Whether eights of both types may be read at once: they begin on multiples of 16 bytes.
constexpr bool in_eights(std::int64_t width) {
  return width % kEight == 0;
}

/// Eight numbers of a row, in registers.
struct Eight {
  float at[kEight];
};

/// Elements [0, left) of `from`, zeros beyond. With `kWhole` there are eight, aligned to 16 bytes.
template <bool kWhole>
__device__ __forceinline__ Eight load_eight(const Bf16* from, std::int64_t left) {
  Eight eight;
  if constexpr (kWhole) {
    const uint4 packed = *reinterpret_cast<const uint4*>(from);
    const std::uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
    for (int i = 0; i < 4; ++i) {
      eight.at[2 * i] = __uint_as_float(words[i] << 16);
      eight.at[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000U);
    }
  } else {
    for (int i = 0; i < kEight; ++i)
      eight.at[i] = i < left ? to_float(from[i]) : 0.0F;
  }
  return eight;
}

template <bool kWhole>
__device__ __forceinline__ Eight load_eight(const float* from, std::int64_t left) {
  Eight eight;
  if constexpr (kWhole) {
    const auto* fours = reinterpret_cast<const float4*>(from);
    const float4 low = fours[0];
    const float4 high = fours[1];
    eight = {{low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w}};
  } else {
    for (int i = 0; i < kEight; ++i)
      eight.at[i] = i < left ? from[i] : 0.0F;
  }
  return eight;
}

template <bool kWhole>
__device__ __forceinline__ void store_eight(const Eight& eight, Bf16* to, std::int64_t left) {
  if constexpr (kWhole) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(pack_bf16(eight.at[0], eight.at[1]), pack_bf16(eight.at[2], eight.at[3]),
                   pack_bf16(eight.at[4], eight.at[5]), pack_bf16(eight.at[6], eight.at[7]));
  } else {
    for (int i = 0; i < kEight; ++i)
      if (i < left) to[i] = to_bf16(eight.at[i]);
  }
}

template <bool kWhole>
__device__ __forceinline__ void store_eight(const Eight& eight, float* to, std::int64_t left) {
  if constexpr (kWhole) {
    auto* fours = reinterpret_cast<float4*>(to);
    fours[0] = make_float4(eight.at[0], eight.at[1], eight.at[2], eight.at[3]);
    fours[1] = make_float4(eight.at[4], eight.at[5], eight.at[6], eight.at[7]);
  } else {
    for (int i = 0; i < kEight; ++i)
      if (i < left) to[i] = eight.at[i];
  }
}

__device__ __forceinline__ void store_number(float x, Bf16* to) {
  *to = to_bf16(x);
}
__device__ __forceinline__ void store_number(float x, float* to) {
  *to = x;
}

/// Σ over the warp, the same in all lanes.
template <class Number>
__device__ __forceinline__ Number warp_sum(Number x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    x += __shfl_xor_sync(kAllLanes, x, offset);
  return x;
}

__device__ __forceinline__ float warp_max(float x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, offset));
  return x;
}

/// Σ over a block of whole warps, the same in all threads. Consecutive calls take turns between the
/// halves of `parts`, [2][32], so that one barrier a call is enough.
template <class Number>
__device__ __forceinline__ Number block_sum(Number x, Number (*parts)[kWarp], int turn) {
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  if (warps == 1) return x;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  if (lane == 0) parts[turn % 2][threadIdx.x / kWarp] = x;
  __syncthreads();
  return warp_sum(lane < warps ? parts[turn % 2][lane] : Number(0));
}

/// Blocks that hold `items` with `each` in one.
inline unsigned blocks_for(std::int64_t items, std::int64_t each) {
  return static_cast<unsigned>((items + each - 1) / each);
}

/// Calls body with the element type of `tensor`, f32 or bf16, as a null pointer.
template <class Body>
void with_type_of(const Tensor& tensor, const Body& body) {
  if (tensor.dtype == DType::bf16) {
    body(static_cast<Bf16*>(nullptr));
  } else {
    body(static_cast<float*>(nullptr));
  }
}

/// Calls body with a constant of whether `flag` is set.
template <class Body>
void with_flag(bool flag, const Body& body) {
  if (flag) {
    body(std::true_type());
  } else {
    body(std::false_type());
  }
}

}  // namespace athanor::cuda
