// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <cmath>

#include "engine/backend/cuda/attention_forward.h"
#include "engine/backend/cuda/attention_tile.h"
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/peaks.h"

/// Flash attention (Dao, 2023): a block takes 64 queries of one head through the tiles of keys that
/// they see, the next tile on its way while one is worked on, and keeps maximum, sum and output of
/// each row in registers.
namespace athanor::cuda {
namespace {

template <int kHeadDim>
struct ForwardTile {
  static constexpr int kKeys = kHeadDim <= 64 ? 64 : 32;
  static constexpr int kNumbers = kKeys * kHeadDim;
  static constexpr int kStage = 2 * kNumbers;  ///< keys, then values
  static constexpr int kSharedBytes = kStages * kStage * 2;
  /// Of one multiprocessor; more would leave a thread too few registers.
  static constexpr int kBlocks = kHeadDim <= 32 ? 4 : 3;
  static_assert(fits(kBlocks, kSharedBytes));
};

/// A lane's two rows: exponentials are of scores in units of log2, since exp2f is one instruction
/// and 1/√head_dim and log2(e) are one factor.
template <int kHeadDim>
struct OnlineSoftmax {
  float largest[2] = {-INFINITY, -INFINITY};  ///< score so far, not scaled
  float sum[2] = {0, 0};                      ///< this lane's share
  float out[kHeadDim / 8][4] = {};

  /// Turns scores into exponentials below the new maximum, and what was summed up likewise.
  template <int kKeys>
  __device__ __forceinline__ void add(float (&scores)[kKeys / 8][4], float scale_log2) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float maximum = largest[half];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
        maximum = fmaxf(maximum, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
      maximum = row_max(maximum);
      // While a row has seen no key, all its exponentials are 0.
      const float shift = maximum == -INFINITY ? 0.0F : maximum * scale_log2;
      const float factor = exp2f(fmaf(largest[half], scale_log2, -shift));
      largest[half] = maximum;
      sum[half] *= factor;
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; ++n) {
        out[n][2 * half] *= factor;
        out[n][2 * half + 1] *= factor;
      }
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[n][i] = exp2f(fmaf(scores[n][i], scale_log2, -shift));
          sum[half] += scores[n][i];
        }
      }
    }
  }
};

/// The queries of one block, and where it finds their rows.
struct ForwardBlock {
  int head;
  int first_query;  ///< within the sequence
  std::int64_t first_row;
  const std::int32_t* starts;  ///< of the sequence
  const Bf16* query_rows;      ///< of the sequence and the head, likewise
  const Bf16* key_rows;
  const Bf16* value_rows;

  /// The last queries of a sequence go first as they see the most.
  __device__ __forceinline__ ForwardBlock(const ForwardView& view, int head_dim) {
    const int tiles = tiles_of(view.queries);
    const BlockPlace place(view.heads, tiles);
    head = place.head;
    first_query = (tiles - 1 - place.tile) * kTileRows;
    first_row = place.sequence * view.queries;
    starts = view.document_starts == nullptr ? nullptr : view.document_starts + first_row;
    query_rows = view.query_rows + first_row * view.query_stride + head * head_dim;
    const std::int64_t keys =
        place.sequence * view.keys * view.key_stride + head / view.group * head_dim;
    key_rows = view.key_rows + keys;
    value_rows = view.value_rows + keys;
  }
};

/// Adds what a warp's queries find in a tile of keys, the first of which is `key`.
template <int kHeadDim>
__device__ __forceinline__ void attend(OnlineSoftmax<kHeadDim>& softmax,
                                       const std::uint32_t (&query)[kHeadDim / 16][4],
                                       const Bf16* keys, const SeenKeys& seen, bool any_hidden,
                                       int key, float scale_log2) {
  using Tile = ForwardTile<kHeadDim>;
  float scores[Tile::kKeys / 8][4] = {};
#pragma unroll
  for (int step = 0; step < kHeadDim / 16; ++step)
    add_product_with_rows<kHeadDim, Tile::kKeys>(scores, query[step], keys, step);
  if (any_hidden) hide<Tile::kKeys>(scores, seen, key);
  softmax.template add<Tile::kKeys>(scores, scale_log2);
#pragma unroll
  for (int row = 0; row < Tile::kKeys; row += 16) {
    std::uint32_t weights[4];
    round_to_operand(weights, scores[row / 8], scores[row / 8 + 1]);
    add_product_with_columns<kHeadDim>(softmax.out, weights, keys + Tile::kNumbers, row);
  }
}

template <int kHeadDim>
__device__ __forceinline__ void write_rows(const ForwardView& view, const ForwardBlock& block,
                                           const OnlineSoftmax<kHeadDim>& softmax, float scale) {
  std::uint32_t peak = 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = row_sum(softmax.sum[half]);
    const int query = lane_query(block.first_query, half);
    if (query < view.queries) {
      const std::int64_t place = (block.first_row + query) * view.heads + block.head;
      store_row<kHeadDim>(view.out + place * kHeadDim, softmax.out, half, 1.0F / sum);
      if (view.lse != nullptr && lane() % 4 == 0)
        view.lse[place] = fmaf(softmax.largest[half], scale, logf(sum));
#pragma unroll
      for (int n = 0; n < kHeadDim / 8; ++n) {
        for (int i = 2 * half; i < 2 * half + 2; ++i)
          peak = max(peak, magnitude_bits(softmax.out[n][i] * (1.0F / sum)));
      }
    }
  }
  raise_peak_by_warp(view.peak, peak);
}

template <int kHeadDim>
__global__ void __launch_bounds__(kTileThreads, ForwardTile<kHeadDim>::kBlocks)
    attention_kernel(ForwardView view, float scale) {
  using Tile = ForwardTile<kHeadDim>;
  constexpr int kKeys = Tile::kKeys;
  ATHANOR_DYNAMIC_SHARED(Bf16, stages);
  const ForwardBlock block(view, kHeadDim);
  const QueryTile tile =
      query_tile(block.starts, block.first_query, view.queries, view.first_position);
  const auto stage_of = [&](int key) { return stages + key / kKeys % kStages * Tile::kStage; };
  const auto begin_copy = [&](int key) {
    Bf16* to = stage_of(key);
    copy_tile<kHeadDim, kKeys>(to, block.key_rows, view.key_stride, key, view.keys);
    copy_tile<kHeadDim, kKeys>(to + Tile::kNumbers, block.value_rows, view.key_stride, key,
                               view.keys);
    copy_async_commit();
  };
  int key = tile.first_key / kKeys * kKeys;
  begin_copy(key);

  const SeenKeys seen(block.starts, block.first_query, view.queries, view.first_position);
  std::uint32_t query[kHeadDim / 16][4];
  load_query_rows<kHeadDim>(query, block.query_rows, view.query_stride, block.first_query,
                            view.queries);
  const int warp_position = block.first_query + warp() * kWarpRows + view.first_position;
  OnlineSoftmax<kHeadDim> softmax;
  for (; key < tile.end_key; key += kKeys) {
    copy_async_wait<0>();
    // This tile is there for all, and no one reads the other stage any more.
    __syncthreads();
    if (key + kKeys < tile.end_key) begin_copy(key + kKeys);
    if (key < warp_position + kWarpRows) {
      const bool any_hidden = key + kKeys - 1 > warp_position || key < tile.latest_start;
      attend(softmax, query, stage_of(key), seen, any_hidden, key, scale * kLog2_e);
    }
  }
  write_rows(view, block, softmax, scale);
}

}  // namespace

bool attention_supports(std::int64_t head_dim) {
  return with_head_dim(head_dim, [&]<int>() {});
}

void launch_attention(Stream stream, const ForwardView& view, std::int64_t head_dim,
                      std::int64_t sequences) {
  const bool known = with_head_dim(head_dim, [&]<int kHeadDim>() {
    launch(attention_kernel<kHeadDim>,
           tile_launch(sequences, view.queries, view.heads, ForwardTile<kHeadDim>::kSharedBytes),
           stream, view, 1.0F / std::sqrt(static_cast<float>(kHeadDim)));
  });
  assert(known);
  static_cast<void>(known);
}

void attention(Stream stream, const Attention& op) {
  const AttentionShape& shape = op.shape;
  const Bf16* qkv = op.qkv.as<Bf16>();
  const Bf16* keys = qkv + shape.query_width();
  const ForwardView view{.query_rows = qkv,
                         .query_stride = static_cast<int>(shape.qkv_width()),
                         .key_rows = keys,
                         .value_rows = keys + shape.key_width(),
                         .key_stride = static_cast<int>(shape.qkv_width()),
                         .document_starts = op.document_starts.as<std::int32_t>(),
                         .out = op.out.as<Bf16>(),
                         .lse = op.lse.as<float>(),
                         .peak = peak_of(op.peak),
                         .heads = static_cast<int>(shape.heads),
                         .group = static_cast<int>(shape.heads / shape.kv_heads),
                         .queries = static_cast<int>(shape.sequence),
                         .keys = static_cast<int>(shape.sequence),
                         .first_position = 0};
  launch_attention(stream, view, shape.head_dim, op.qkv.rows() / shape.sequence);
}

}  // namespace athanor::cuda
