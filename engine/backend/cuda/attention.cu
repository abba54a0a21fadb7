// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <cmath>

#include "engine/backend/cuda/attention_forward.h"
#include "engine/backend/cuda/attention_tile.h"
#include "engine/backend/cuda/kernels.h"

/// Flash attention (Dao, 2023): a block takes 64 queries of one head through the tiles of keys that
/// they see, the next tile on its way while one is worked on, and keeps maximum, sum and output of
/// each row in registers.
namespace athanor::cuda {
namespace {

constexpr int kStages = 2;

template <int kHeadDim>
struct ForwardTile {
  static constexpr int kKeys = kHeadDim <= 64 ? 64 : 32;
  static constexpr int kNumbers = kKeys * kHeadDim;
  static constexpr int kStage = 2 * kNumbers;  ///< keys, then values
  static constexpr int kSharedBytes = kStages * kStage * 2;
  /// Blocks that shared memory of 100 KiB and registers let run on one multiprocessor.
  static constexpr int kBlocks = kHeadDim <= 32 ? 4 : 3;
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

template <int kHeadDim>
__device__ __forceinline__ void write_rows(const ForwardView& view,
                                           const OnlineSoftmax<kHeadDim>& softmax,
                                           std::int64_t first_row, int first_query, int head,
                                           float scale) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float sum = row_sum(softmax.sum[half]);
    const int query = lane_query(first_query, half);
    if (query >= view.queries) continue;
    const std::int64_t place = (first_row + query) * view.heads + head;
    store_row<kHeadDim>(view.out + place * kHeadDim, softmax.out, half, 1.0F / sum);
    if (view.lse != nullptr && lane() % 4 == 0)
      view.lse[place] = fmaf(softmax.largest[half], scale, logf(sum));
  }
}

/// blockIdx.x: sequence · heads + head. blockIdx.y: queries, the last first as they see the most.
template <int kHeadDim>
__global__ void __launch_bounds__(kTileThreads, ForwardTile<kHeadDim>::kBlocks)
    attention_kernel(ForwardView view, float scale) {
  using Tile = ForwardTile<kHeadDim>;
  constexpr int kKeys = Tile::kKeys;
  ATHANOR_DYNAMIC_SHARED(Bf16, stages);
  const int head = static_cast<int>(blockIdx.x) % view.heads;
  const int sequence = static_cast<int>(blockIdx.x) / view.heads;
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * kTileRows;
  const std::int64_t first_row = static_cast<std::int64_t>(sequence) * view.queries;
  const std::int32_t* starts =
      view.document_starts == nullptr ? nullptr : view.document_starts + first_row;
  const Bf16* query_rows = view.query_rows + first_row * view.query_stride + head * kHeadDim;
  const std::int64_t key_offset =
      static_cast<std::int64_t>(sequence) * view.keys * view.key_stride +
      head / view.group * kHeadDim;
  const Bf16* key_rows = view.key_rows + key_offset;
  const Bf16* value_rows = view.value_rows + key_offset;

  const QueryTile tile = query_tile(starts, first_query, view.queries, view.first_position);
  const auto stage_of = [&](int key) { return stages + key / kKeys % kStages * Tile::kStage; };
  const auto begin_copy = [&](int key) {
    Bf16* to = stage_of(key);
    copy_tile<kHeadDim, kKeys>(to, key_rows, view.key_stride, key, view.keys);
    copy_tile<kHeadDim, kKeys>(to + Tile::kNumbers, value_rows, view.key_stride, key, view.keys);
    copy_async_commit();
  };
  int key = tile.first_key / kKeys * kKeys;
  begin_copy(key);

  const SeenKeys seen(starts, first_query, view.queries, view.first_position);
  std::uint32_t query[kHeadDim / 16][4];
  load_query_rows<kHeadDim>(query, query_rows, view.query_stride, first_query, view.queries);
  const int warp_position = first_query + warp() * kWarpRows + view.first_position;
  OnlineSoftmax<kHeadDim> softmax;
  for (; key < tile.end_key; key += kKeys) {
    copy_async_wait<0>();
    // This tile is there for all, and no one reads the other stage any more.
    __syncthreads();
    if (key + kKeys < tile.end_key) begin_copy(key + kKeys);
    const Bf16* keys = stage_of(key);
    if (key < warp_position + kWarpRows) {
      float scores[kKeys / 8][4] = {};
#pragma unroll
      for (int step = 0; step < kHeadDim / 16; ++step)
        add_product_with_rows<kHeadDim, kKeys>(scores, query[step], keys, step);
      if (key + kKeys - 1 > warp_position || key < tile.latest_start)
        hide<kKeys>(scores, seen, key);
      softmax.template add<kKeys>(scores, scale * kLog2_e);
#pragma unroll
      for (int row = 0; row < kKeys; row += 16) {
        std::uint32_t weights[4];
        round_to_operand(weights, scores[row / 8], scores[row / 8 + 1]);
        add_product_with_columns<kHeadDim>(softmax.out, weights, keys + Tile::kNumbers, row);
      }
    }
  }
  write_rows(view, softmax, first_row, first_query, head, scale);
}

}  // namespace

bool attention_supports(std::int64_t head_dim) {
  return with_head_dim(head_dim, [&]<int>() {});
}

void launch_attention(Stream stream, const ForwardView& view, std::int64_t head_dim,
                      std::int64_t sequences) {
  const auto tiles = static_cast<unsigned>((view.queries + kTileRows - 1) / kTileRows);
  const bool known = with_head_dim(head_dim, [&]<int kHeadDim>() {
    launch(attention_kernel<kHeadDim>,
           {.blocks = {static_cast<unsigned>(sequences * view.heads), tiles, 1},
            .threads = {kTileThreads, 1, 1},
            .shared_bytes = ForwardTile<kHeadDim>::kSharedBytes},
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
                         .heads = static_cast<int>(shape.heads),
                         .group = static_cast<int>(shape.heads / shape.kv_heads),
                         .queries = static_cast<int>(shape.sequence),
                         .keys = static_cast<int>(shape.sequence),
                         .first_position = 0};
  launch_attention(stream, view, shape.head_dim, op.qkv.rows() / shape.sequence);
}

}  // namespace athanor::cuda
