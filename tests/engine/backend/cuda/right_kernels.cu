// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/cuda/right_kernels.h"

#include "engine/backend/cuda/device.h"

namespace athanor::cuda {
namespace {

__global__ void tell_places(Place* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = {
      {threadIdx.x, threadIdx.y, threadIdx.z},
      {blockIdx.x, blockIdx.y, blockIdx.z},
      {blockDim.x, blockDim.y, blockDim.z},
      {gridDim.x, gridDim.y, gridDim.z}};
}

__global__ void use_warp_functions(const float* in, WarpResults* out) {
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  const float x = in[threadIdx.x];
  WarpResults& to = out[threadIdx.x];
  to.indexed = __shfl_sync(kAllLanes, x, 7 * lane % 32);
  to.indexed_by_8 = __shfl_sync(kAllLanes, x, 3, 8);
  to.crossed = __shfl_xor_sync(kAllLanes, x, 5);
  to.down = __shfl_down_sync(kAllLanes, x, 3);
  to.down_by_8 = __shfl_down_sync(kAllLanes, x, 3, 8);
  to.up = __shfl_up_sync(kAllLanes, x, 3);
  to.up_by_16 = __shfl_up_sync(kAllLanes, x, 3, 16);
  to.wide = __shfl_xor_sync(kAllLanes, static_cast<double>(x) + 1e-9, 1);
  to.ballot = __ballot_sync(kAllLanes, x > 0);
  to.any = __any_sync(kAllLanes, x > 1.5F);
  to.all = __all_sync(kAllLanes, x > -1.5F);
  to.any_of_none = __any_sync(kAllLanes, x > 10);
  to.sum = __reduce_add_sync(kAllLanes, static_cast<int>(100 * x));
  __syncwarp();
  to.sum_of_some = 0;
  if (lane % 2 == 1) to.sum_of_some = __reduce_add_sync(0xAAAAAAAAU, static_cast<unsigned>(lane));
  to.count = __syncthreads_count(x > 0);
  to.some = __syncthreads_or(x > 1.9F);
  to.none = __syncthreads_or(x > 10);
}

__device__ __forceinline__ float warp_sum(float x) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
    x += __shfl_xor_sync(kAllLanes, x, lanes);
  return x;
}

__global__ void __launch_bounds__(128) sum_blocks(const float* __restrict__ in, float* out) {
  ATHANOR_SHARED(float, parts, [4]);
  ATHANOR_SHARED(float, total, );
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const float sum = warp_sum(__ldg(in + blockIdx.x * blockDim.x + threadIdx.x));
  if (threadIdx.x % kWarp == 0) parts[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) total = parts[0] + parts[1] + parts[2] + parts[3];
  __syncthreads();
  if (threadIdx.x == 127) out[blockIdx.x] = total;
}

template <bool kBarrier>
__global__ void reverse(const float* in, float* out) {
  ATHANOR_DYNAMIC_SHARED(float, values);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = in[i];
  if (kBarrier) __syncthreads();
  // Of neighbours: forward, all that is read was written already.
  const unsigned from = kBarrier ? blockDim.x - 1 - threadIdx.x : threadIdx.x / 2;
  out[i] = values[from];
}

constexpr int kTile = 256;

__global__ void add_one(const float* in, float* out, int tiles) {
  ATHANOR_SHARED(float, stages, [2][kTile]);
  const unsigned i = threadIdx.x * 4;
  copy_async_16(&stages[0][i], in + i);
  copy_async_commit();
  for (int tile = 0; tile < tiles; ++tile) {
    const bool more = tile + 1 < tiles;
    copy_async_16(&stages[(tile + 1) % 2][i], more ? in + (tile + 1) * kTile + i : nullptr, more);
    copy_async_commit();
    copy_async_wait<1>();
    __syncthreads();
    // Each thread uses what another copied.
    for (int part = 0; part < 4; ++part) {
      const unsigned at = part * blockDim.x + threadIdx.x;
      out[tile * kTile + at] = stages[tile % 2][at] + 1;
    }
    __syncthreads();
  }
  copy_async_wait<0>();
  // The copy of nothing left zeros.
  if (threadIdx.x == 0) out[0] += stages[tiles % 2][i];
}

__global__ void multiply(const Bf16* a, const Bf16* b, float* d) {
  ATHANOR_SHARED(Bf16, shared_a, [16][16]);
  ATHANOR_SHARED(Bf16, shared_b, [16][16]);
  const int lane = static_cast<int>(threadIdx.x);
  copy_async_16(&shared_a[lane / 2][lane % 2 * 8], a + lane * 8);
  copy_async_16(&shared_b[lane / 2][lane % 2 * 8], b + lane * 8);
  copy_async_commit();
  copy_async_wait<0>();
  __syncwarp();
  std::uint32_t rows[4];
  std::uint32_t columns[4];
  load_matrices(rows, &shared_a[lane % 16][lane / 16 * 8]);
  load_matrices_transposed(columns, &shared_b[lane % 16][lane / 16 * 8]);
  for (int half = 0; half < 2; ++half) {
    float tile[4] = {};
    mma_bf16(tile, rows, {columns[2 * half], columns[2 * half + 1]});
    for (int i = 0; i < 4; ++i)
      d[(lane / 4 + i / 2 * 8) * 16 + half * 8 + lane % 4 * 2 + i % 2] = tile[i];
  }
}

__device__ std::uint32_t pair(Bf16 low, Bf16 high) {
  return std::uint32_t{low.bits} | std::uint32_t{high.bits} << 16;
}

/// The fragments as the PTX ISA lists them: a0, a1 in row groupID, a2, a3 in row groupID + 8, and
/// the next four at columns 8 on; b0, b1 in rows 2·threadID and the next, b2, b3 8 below.
__global__ void multiply_by_elements(const Bf16* a, const Bf16* b, float* d) {
  const int group = static_cast<int>(threadIdx.x) >> 2;
  const int in_group = static_cast<int>(threadIdx.x) & 3;
  const auto a_at = [&](int row, int column) { return a[row * 16 + column]; };
  const auto b_at = [&](int row) { return b[row * 8 + group]; };
  const int k = in_group * 2;
  const std::uint32_t rows[4] = {pair(a_at(group, k), a_at(group, k + 1)),
                                 pair(a_at(group + 8, k), a_at(group + 8, k + 1)),
                                 pair(a_at(group, k + 8), a_at(group, k + 9)),
                                 pair(a_at(group + 8, k + 8), a_at(group + 8, k + 9))};
  const std::uint32_t columns[2] = {pair(b_at(k), b_at(k + 1)), pair(b_at(k + 8), b_at(k + 9))};
  float tile[4] = {1, 1, 1, 1};
  mma_bf16(tile, rows, columns);
  d[group * 8 + k] = tile[0];
  d[group * 8 + k + 1] = tile[1];
  d[(group + 8) * 8 + k] = tile[2];
  d[(group + 8) * 8 + k + 1] = tile[3];
}

__global__ void change_atomically(AtomicResults* to, unsigned* finished) {
  const auto number = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  to->tickets[atomicAdd(&to->sum, 1)] += 1;
  atomicAdd(&to->unsigned_sum, static_cast<unsigned>(number));
  atomicAdd(&to->wide_sum, 1ULL << 33);
  atomicAdd(&to->float_sum, 0.5F);
  atomicMax(&to->most, number - 10);
  atomicMin(&to->least, number - 10);
  unsigned before = atomicAdd(&to->swaps, 0U);
  for (unsigned seen = atomicCAS(&to->swaps, before, before + 1); seen != before;
       seen = atomicCAS(&to->swaps, before, before + 1)) {
    before = seen;
  }
  atomicExch(&to->exchanged, static_cast<float>(1));
  __threadfence();
  if (threadIdx.x == 0 && atomicAdd(finished, 1U) == gridDim.x - 1) to->last_block += 1;
}

__global__ void take_turns(int* out) {
  ATHANOR_SHARED(int, count, );
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const int half = static_cast<int>(threadIdx.x) / 64;
  for (int turn = 0; turn < 4; ++turn) {
    if (turn % 2 == half && threadIdx.x % 64 == 0) count = count * 10 + half + 1;
    named_barrier(1 + turn, 128);
  }
  // Those of one half alone.
  if (half == 1) {
    if (threadIdx.x == 100) count = count * 10 + 7;
    named_barrier(15, 64);
    if (threadIdx.x == 64) *out = count;
  }
}

__global__ void read_poison(float* out) {
  ATHANOR_SHARED(float2, fresh, [32]);
  ATHANOR_DYNAMIC_SHARED(float, dynamic);
  out[threadIdx.x] = fresh[threadIdx.x].x + fresh[threadIdx.x].y;
  out[32 + threadIdx.x] = dynamic[threadIdx.x];
  // Not for the next block to find.
  fresh[threadIdx.x] = make_float2(0, 0);
  dynamic[threadIdx.x] = 0;
}

__global__ void pass_barriers(int barriers) {
  for (int i = 0; i < barriers; ++i)
    __syncthreads();
}

__global__ void write_once(float* out) {
  out[threadIdx.x] = static_cast<float>(blockIdx.x);
}

}  // namespace

std::vector<Place> places() {
  const dim3 blocks(kPlace_blocks[0], kPlace_blocks[1], kPlace_blocks[2]);
  const dim3 threads(kPlace_threads[0], kPlace_threads[1], kPlace_threads[2]);
  std::vector<Place> out(12 * 96);
  launch(tell_places, {.blocks = blocks, .threads = threads}, nullptr, out.data());
  return out;
}

std::vector<WarpResults> warp_results(std::span<const float> in) {
  std::vector<WarpResults> out(in.size());
  launch(use_warp_functions, {.blocks = 1, .threads = static_cast<unsigned>(in.size())}, nullptr,
         in.data(), out.data());
  return out;
}

std::vector<float> block_sums(std::span<const float> in) {
  std::vector<float> out(in.size() / 128);
  launch(sum_blocks, {.blocks = static_cast<unsigned>(out.size()), .threads = 128}, Stream{},
         in.data(), out.data());
  return out;
}

std::vector<float> reversed(std::span<const float> in) {
  std::vector<float> out(in.size());
  const LaunchShape shape{static_cast<unsigned>(in.size() / 64), 64, 64 * sizeof(float)};
  launch(reverse<true>, shape, nullptr, in.data(), out.data());
  return out;
}

std::vector<float> reversed_without_barrier(std::span<const float> in) {
  std::vector<float> out(in.size());
  const LaunchShape shape{static_cast<unsigned>(in.size() / 64), 64, 64 * sizeof(float)};
  launch(reverse<false>, shape, nullptr, in.data(), out.data());
  return out;
}

std::vector<float> piped(std::span<const float> in) {
  std::vector<float> out(in.size());
  launch(add_one, {.blocks = 1, .threads = kTile / 4}, nullptr, in.data(), out.data(),
         static_cast<int>(in.size() / kTile));
  return out;
}

std::vector<float> product(std::span<const Bf16> a, std::span<const Bf16> b) {
  std::vector<float> d(256);
  launch(multiply, {.blocks = 1, .threads = 32}, nullptr, a.data(), b.data(), d.data());
  return d;
}

std::vector<float> product_by_elements(std::span<const Bf16> a, std::span<const Bf16> b) {
  std::vector<float> d(128);
  launch(multiply_by_elements, {.blocks = 1, .threads = 32}, nullptr, a.data(), b.data(), d.data());
  return d;
}

AtomicResults atomics() {
  AtomicResults results;
  unsigned finished = 0;
  launch(change_atomically, {.blocks = 2, .threads = 32}, nullptr, &results, &finished);
  return results;
}

int turns() {
  int count = 0;
  launch(take_turns, {.blocks = 1, .threads = 128}, nullptr, &count);
  return count;
}

std::vector<float> poisons() {
  std::vector<float> out(64);
  launch(read_poison, {.blocks = 2, .threads = 32, .shared_bytes = 128}, nullptr, out.data());
  return out;
}

void many_barriers(int barriers) {
  launch(pass_barriers, {.blocks = 1, .threads = 256}, nullptr, barriers);
}

void many_threads(unsigned blocks, float* out) {
  launch(write_once, {.blocks = blocks, .threads = 256}, nullptr, out);
}

}  // namespace athanor::cuda
