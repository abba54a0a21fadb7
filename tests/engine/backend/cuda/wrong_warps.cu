// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/device.h"
#include "tests/engine/backend/cuda/wrong_kernels.h"

namespace athanor::cuda {
namespace {

__global__ void call_by_some() {
  if (threadIdx.x < 8) __shfl_xor_sync(kAllLanes, 1.0F, 1);
}

__global__ void call_by_some_and_wait() {
  if (threadIdx.x % 32 < 8) __shfl_xor_sync(kAllLanes, 1.0F, 1);
  __syncthreads();
}

__global__ void call_at_two_places() {
  // NOLINTNEXTLINE(bugprone-branch-clone): two calls on purpose
  if (threadIdx.x % 2 == 0) {
    __ballot_sync(kAllLanes, 1);
  } else {
    __ballot_sync(kAllLanes, 1);
  }
}

__global__ void call_two_functions() {
  float d[4] = {};
  if (threadIdx.x % 32 < 31) {
    mma_bf16(d, {0, 0, 0, 0}, {0, 0});
  } else {
    __syncwarp();
  }
}

__global__ void call_with_two_masks() {
  __any_sync(threadIdx.x % 2 == 0 ? kAllLanes : 0xFFFFFFFEU, 1);
}

__global__ void call_outside_the_mask() {
  __all_sync(0x0000FFFFU, 1);
}

__global__ void read_outside_the_mask() {
  if (threadIdx.x % 32 < 8) __shfl_sync(0xFFU, 1, 9);
}

__global__ void shuffle_by_12() {
  __shfl_down_sync(kAllLanes, 1, 1, 12);
}

__global__ void shuffle_across() {
  __shfl_xor_sync(kAllLanes, 1, 32);
}

template <int kOffset>
__global__ void load_misaligned() {
  ATHANOR_SHARED(Bf16, rows, [32 * 8 + 8]);
  std::uint32_t to[4];
  rows[threadIdx.x % 32] = to_bf16(1);
  load_matrices(to, &rows[threadIdx.x % 32 * 8 + kOffset]);
}

__global__ void load_outside() {
  ATHANOR_SHARED(Bf16, rows, [31 * 8]);
  std::uint32_t to[4];
  load_matrices_transposed(to, rows + threadIdx.x % 32 * 8);
}

template <class Kernel>
void run(Kernel kernel) {
  launch(kernel, {.blocks = 2, .threads = 64}, nullptr);
}

// clang-format off
constexpr WrongKernel kWrong[] = {
    {"lanes leave", [] { run(call_by_some); }, "__shfl_xor_sync", "wrong_warps.cu:#"},
    {"lanes wait elsewhere", [] { run(call_by_some_and_wait); }, "threads 0-7 wait at __shfl_xor_sync (wrong_warps.cu:#) for lanes 8-31; threads 8-31, 40-63 wait at __syncthreads (wrong_warps.cu:#); threads 32-39 wait at __shfl_xor_sync (wrong_warps.cu:#) for lanes 8-31", "nobody can go on"},
    {"two places", [] { run(call_at_two_places); }, "lanes of a warp diverge", "__ballot_sync (wrong_warps.cu:#"},
    {"two functions", [] { run(call_two_functions); }, "lanes of a warp diverge", "mma_bf16"},
    {"two masks", [] { run(call_with_two_masks); }, "with another mask", "wrong_warps.cu:#"},
    {"not in its mask", [] { run(call_outside_the_mask); }, "__all_sync has a mask without the lane that calls it", "wrong_warps.cu:#"},
    {"reads outside", [] { run(read_outside_the_mask); }, "__shfl_sync reads lane 9, which is not in its mask", "wrong_warps.cu:#"},
    {"width", [] { run(shuffle_by_12); }, "__shfl_down_sync has the width 12", "wrong_warps.cu:#"},
    {"across warps", [] { run(shuffle_across); }, "__shfl_xor_sync of lanes 32 apart", "wrong_warps.cu:#"},
    {"misaligned rows", [] { run(load_misaligned<4>); }, "load_matrices of a misaligned row", "wrong_warps.cu:#"},
    {"rows outside", [] { run(load_outside); }, "load_matrices_transposed of a row outside of shared memory", "wrong_warps.cu:#"},
};
// clang-format on

}  // namespace

std::span<const WrongKernel> wrong_warps() {
  return kWrong;
}

}  // namespace athanor::cuda
