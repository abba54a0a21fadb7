// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <cmath>

#include "engine/backend/cuda/attention_forward.h"
#include "engine/backend/cuda/attention_tile.h"
#include "engine/backend/cuda/kernels.h"

/// One row at a time reads every key and value once for few products, so that a block's warps split
/// the keys and compute in FP32; more rows go through the tiles of the forward direction.
namespace athanor::cuda {
namespace {

struct DecodeView {
  const Bf16* qkv;
  Bf16* key_cache;
  Bf16* value_cache;
  Bf16* out;
  std::int64_t first_position;  ///< rows in the caches before
  int rows;
  int heads;
  int kv_heads;
  int head_dim;

  __device__ __forceinline__ std::int64_t key_width() const {
    return static_cast<std::int64_t>(kv_heads) * head_dim;
  }
  __device__ __forceinline__ std::int64_t query_width() const {
    return static_cast<std::int64_t>(heads) * head_dim;
  }
};

constexpr int kCopied = 8;  ///< numbers in 16 bytes

__device__ __forceinline__ uint4 load_16(const Bf16* from) {
  return *reinterpret_cast<const uint4*>(from);
}
__device__ __forceinline__ void copy_16(Bf16* to, const Bf16* from) {
  *reinterpret_cast<uint4*>(to) = load_16(from);
}

constexpr int kAppendThreads = 128;

/// A block appends one row's keys and values.
__global__ void __launch_bounds__(kAppendThreads) append_keys_kernel(DecodeView view) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t width = view.key_width();
  const Bf16* from = view.qkv + row * (view.query_width() + 2 * width) + view.query_width();
  const std::int64_t place = (view.first_position + row) * width;
  for (std::int64_t i = static_cast<std::int64_t>(threadIdx.x) * kCopied; i < width;
       i += kAppendThreads * kCopied) {
    copy_16(view.key_cache + place + i, from + i);
    copy_16(view.value_cache + place + i, from + width + i);
  }
}

constexpr int kDecodeWarps = 8;
constexpr int kDecodeThreads = kDecodeWarps * kWarp;

/// As many lanes share a key as evenly divide its 16-byte chunks; they read them side by side.
template <int kHeadDim>
struct DecodeLanes {
  static constexpr int kChunks = kHeadDim / kCopied;
  static constexpr int kLanes = kChunks & -kChunks;  ///< of one key
  static constexpr int kOwn = kChunks / kLanes;      ///< chunks of one lane
  static constexpr int kNumbers = kOwn * kCopied;    ///< of one lane
  static constexpr int kGroups = kDecodeThreads / kLanes;
  /// Keys that a group of lanes has on their way at once.
  static constexpr int kAtOnce = kOwn >= 4 ? 1 : 4 / kOwn;

  static __device__ __forceinline__ int group() { return static_cast<int>(threadIdx.x) / kLanes; }
  /// Where this lane's chunk `i` begins within a head.
  static __device__ __forceinline__ int column(int i) {
    return (i * kLanes + lane() % kLanes) * kCopied;
  }
};

__device__ __forceinline__ void widen(float (&to)[kCopied], const uint4& from) {
  const std::uint32_t pairs[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = low_of(pairs[i]);
    to[2 * i + 1] = high_of(pairs[i]);
  }
}

/// Maximum, sum and output so far of those keys that a group of lanes, or more of them, has seen;
/// scores in units of log2.
template <int kNumbers>
struct PartialSoftmax {
  float largest = -INFINITY;
  float sum = 0;
  float out[kNumbers] = {};

  /// Makes sums relative to a maximum that is no smaller. Nothing seen stays nothing.
  __device__ __forceinline__ void raise(float maximum) {
    const float factor = largest == -INFINITY ? 0.0F : exp2f(largest - maximum);
    largest = maximum;
    sum *= factor;
#pragma unroll
    for (int i = 0; i < kNumbers; ++i)
      out[i] *= factor;
  }

  /// Adds what the lane `distance` away has, of other keys.
  __device__ __forceinline__ void merge(int distance) {
    raise(fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, distance)));
    sum += __shfl_xor_sync(kAllLanes, sum, distance);
#pragma unroll
    for (int i = 0; i < kNumbers; ++i)
      out[i] += __shfl_xor_sync(kAllLanes, out[i], distance);
  }
};

/// The keys and values of a head's group: those of this call lie in qkv still, so that no block
/// waits for another's writing.
struct SeenRows {
  const Bf16* cached_keys;
  const Bf16* cached_values;
  const Bf16* own_keys;
  const Bf16* own_values;
  std::int64_t cached;
  std::int64_t stride;

  __device__ __forceinline__ const Bf16* keys(std::int64_t row) const {
    return row < cached ? cached_keys + row * stride : own_keys;
  }
  __device__ __forceinline__ const Bf16* values(std::int64_t row) const {
    return row < cached ? cached_values + row * stride : own_values;
  }
};

/// Adds rows first, first + kGroups, … of a lane's group, as far as there are.
template <int kHeadDim>
__device__ __forceinline__ void add_keys(PartialSoftmax<DecodeLanes<kHeadDim>::kNumbers>& softmax,
                                         const float (&query)[DecodeLanes<kHeadDim>::kOwn][kCopied],
                                         const SeenRows& seen, std::int64_t first) {
  using Lanes = DecodeLanes<kHeadDim>;
  uint4 keys[Lanes::kAtOnce][Lanes::kOwn];
  uint4 values[Lanes::kAtOnce][Lanes::kOwn];
#pragma unroll
  for (int k = 0; k < Lanes::kAtOnce; ++k) {
    const std::int64_t row = min(first + k * Lanes::kGroups, seen.cached);
#pragma unroll
    for (int i = 0; i < Lanes::kOwn; ++i) {
      keys[k][i] = load_16(seen.keys(row) + Lanes::column(i));
      values[k][i] = load_16(seen.values(row) + Lanes::column(i));
    }
  }
  float scores[Lanes::kAtOnce] = {};
  float maximum = softmax.largest;
#pragma unroll
  for (int k = 0; k < Lanes::kAtOnce; ++k) {
#pragma unroll
    for (int i = 0; i < Lanes::kOwn; ++i) {
      float numbers[kCopied];
      widen(numbers, keys[k][i]);
#pragma unroll
      for (int j = 0; j < kCopied; ++j)
        scores[k] = fmaf(query[i][j], numbers[j], scores[k]);
    }
#pragma unroll
    for (int distance = 1; distance < Lanes::kLanes; distance *= 2)
      scores[k] += __shfl_xor_sync(kAllLanes, scores[k], distance);
    if (first + k * Lanes::kGroups > seen.cached) scores[k] = -INFINITY;
    maximum = fmaxf(maximum, scores[k]);
  }
  softmax.raise(maximum);
#pragma unroll
  for (int k = 0; k < Lanes::kAtOnce; ++k) {
    const float weight = scores[k] == -INFINITY ? 0.0F : exp2f(scores[k] - maximum);
    softmax.sum += weight;
#pragma unroll
    for (int i = 0; i < Lanes::kOwn; ++i) {
      float numbers[kCopied];
      widen(numbers, values[k][i]);
#pragma unroll
      for (int j = 0; j < kCopied; ++j)
        softmax.out[i * kCopied + j] = fmaf(weight, numbers[j], softmax.out[i * kCopied + j]);
    }
  }
}

/// What each warp found, for the block to put together.
template <int kHeadDim>
struct WarpSums {
  float largest[kDecodeWarps];
  float sum[kDecodeWarps];
  float out[kDecodeWarps][kHeadDim];
};

template <int kHeadDim>
__device__ __forceinline__ void share(
    WarpSums<kHeadDim>& sums, const PartialSoftmax<DecodeLanes<kHeadDim>::kNumbers>& softmax) {
  using Lanes = DecodeLanes<kHeadDim>;
  if (lane() >= Lanes::kLanes) return;
#pragma unroll
  for (int i = 0; i < Lanes::kNumbers; ++i)
    sums.out[warp()][Lanes::column(i / kCopied) + i % kCopied] = softmax.out[i];
  if (lane() > 0) return;
  sums.largest[warp()] = softmax.largest;
  sums.sum[warp()] = softmax.sum;
}

/// Writes a head's output, two numbers a thread.
template <int kHeadDim>
__device__ __forceinline__ void write_whole(Bf16* out, const WarpSums<kHeadDim>& sums) {
  const int column = 2 * static_cast<int>(threadIdx.x);
  if (column >= kHeadDim) return;
  float maximum = sums.largest[0];
  for (int i = 1; i < kDecodeWarps; ++i)
    maximum = fmaxf(maximum, sums.largest[i]);
  float sum = 0;
  float left = 0;
  float right = 0;
  for (int i = 0; i < kDecodeWarps; ++i) {
    const float factor = exp2f(sums.largest[i] - maximum);
    sum = fmaf(sums.sum[i], factor, sum);
    left = fmaf(sums.out[i][column], factor, left);
    right = fmaf(sums.out[i][column + 1], factor, right);
  }
  store_pair(out + column, left / sum, right / sum);
}

/// A block attends from one head of the only row; those of the first heads of a group append its
/// keys and values.
template <int kHeadDim>
__global__ void __launch_bounds__(kDecodeThreads)
    decode_attention_kernel(DecodeView view, float scale) {
  using Lanes = DecodeLanes<kHeadDim>;
  ATHANOR_SHARED(WarpSums<kHeadDim>, sums, [1]);
  const int head = static_cast<int>(blockIdx.x);
  const int group = view.heads / view.kv_heads;
  const std::int64_t column = static_cast<std::int64_t>(head / group) * kHeadDim;
  const std::int64_t width = view.key_width();
  const SeenRows seen{.cached_keys = view.key_cache + column,
                      .cached_values = view.value_cache + column,
                      .own_keys = view.qkv + view.query_width() + column,
                      .own_values = view.qkv + view.query_width() + width + column,
                      .cached = view.first_position,
                      .stride = width};
  float query[Lanes::kOwn][kCopied];
#pragma unroll
  for (int i = 0; i < Lanes::kOwn; ++i) {
    widen(query[i], load_16(view.qkv + head * kHeadDim + Lanes::column(i)));
#pragma unroll
    for (int j = 0; j < kCopied; ++j)
      query[i][j] *= scale * kLog2_e;
  }
  PartialSoftmax<Lanes::kNumbers> softmax;
  for (std::int64_t first = 0; first <= seen.cached; first += Lanes::kGroups * Lanes::kAtOnce)
    add_keys<kHeadDim>(softmax, query, seen, first + Lanes::group());
  for (int distance = Lanes::kLanes; distance < kWarp; distance *= 2)
    softmax.merge(distance);
  share(sums[0], softmax);
  __syncthreads();
  write_whole(view.out + head * kHeadDim, sums[0]);
  if (head % group == 0 && static_cast<int>(threadIdx.x) < Lanes::kChunks) {
    const int i = static_cast<int>(threadIdx.x) * kCopied;
    const std::int64_t place = seen.cached * width + i;
    copy_16(view.key_cache + column + place, seen.own_keys + i);
    copy_16(view.value_cache + column + place, seen.own_values + i);
  }
}

void decode_row(Stream stream, const DecodeView& view) {
  const bool known = with_head_dim(view.head_dim, [&]<int kHeadDim>() {
    launch(decode_attention_kernel<kHeadDim>,
           {.blocks = {static_cast<unsigned>(view.heads), 1, 1}, .threads = {kDecodeThreads, 1, 1}},
           stream, view, 1.0F / std::sqrt(static_cast<float>(kHeadDim)));
  });
  assert(known);
  static_cast<void>(known);
}

void decode_rows(Stream stream, const DecodeView& view, const AttentionShape& shape) {
  launch(append_keys_kernel,
         {.blocks = {static_cast<unsigned>(view.rows), 1, 1}, .threads = {kAppendThreads, 1, 1}},
         stream, view);
  launch_attention(stream,
                   {.query_rows = view.qkv,
                    .query_stride = static_cast<int>(shape.qkv_width()),
                    .key_rows = view.key_cache,
                    .value_rows = view.value_cache,
                    .key_stride = static_cast<int>(shape.key_width()),
                    .out = view.out,
                    .heads = view.heads,
                    .group = view.heads / view.kv_heads,
                    .queries = view.rows,
                    .keys = static_cast<int>(view.first_position) + view.rows,
                    .first_position = static_cast<int>(view.first_position)},
                   shape.head_dim, 1);
}

}  // namespace

void decode_attention(Stream stream, const DecodeAttention& op) {
  const AttentionShape& shape = op.shape;
  const DecodeView view{.qkv = op.qkv.as<Bf16>(),
                        .key_cache = op.key_cache.as<Bf16>(),
                        .value_cache = op.value_cache.as<Bf16>(),
                        .out = op.out.as<Bf16>(),
                        .first_position = op.first_position,
                        .rows = static_cast<int>(op.qkv.rows()),
                        .heads = static_cast<int>(shape.heads),
                        .kv_heads = static_cast<int>(shape.kv_heads),
                        .head_dim = static_cast<int>(shape.head_dim)};
  if (view.rows == 1) {
    decode_row(stream, view);
  } else {
    decode_rows(stream, view, shape);
  }
}

}  // namespace athanor::cuda
