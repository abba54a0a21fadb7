// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <cmath>

#include "engine/backend/cuda/attention_backward.h"
#include "engine/backend/cuda/attention_tile.h"
#include "engine/backend/cuda/kernels.h"
#include "engine/backend/cuda/rows.h"

/// Flash attention's gradients (Dao, 2023) without atomics: weights P are made again from lse, once
/// by blocks that own queries and once, in attention_key_gradients.cu, by blocks that own keys;
/// each adds up its gradients in one order.
namespace athanor::cuda {
namespace {

constexpr int kDotWarps = 8;

/// One warp for each row of each head.
template <int kHeadDim>
__global__ void __launch_bounds__(kDotWarps* kWarp)
    attention_dots_kernel(BackwardView view, std::int64_t count) {
  const std::int64_t wanted = static_cast<std::int64_t>(blockIdx.x) * kDotWarps + warp();
  const std::int64_t place = wanted < count ? wanted : count - 1;
  const Bf16* out = view.out + place * kHeadDim;
  const Bf16* d_out = view.d_out + place * kHeadDim;
  float dot = 0;
#pragma unroll
  for (int column = 0; column < kHeadDim; column += 2 * kWarp) {
    const int i = column + 2 * lane();
    if (i >= kHeadDim) break;
    const std::uint32_t a = load_pair(out + i);
    const std::uint32_t b = load_pair(d_out + i);
    dot = fmaf(low_of(a), low_of(b), dot);
    dot = fmaf(high_of(a), high_of(b), dot);
  }
  dot = warp_sum(dot);
  if (lane() == 0 && wanted < count) view.dots[place] = dot;
}

/// Scores' gradients, of weights' gradients: both in units that still lack the factor 1/√head_dim.
template <int kKeys>
__device__ __forceinline__ void to_d_scores(float (&d_weights)[kKeys / 8][4],
                                            const float (&scores)[kKeys / 8][4],
                                            const float (&lse_log2)[2], const float (&dots)[2],
                                            float scale_log2) {
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float weight = exp2f(fmaf(scores[n][i], scale_log2, -lse_log2[i / 2]));
      d_weights[n][i] = weight * (d_weights[n][i] - dots[i / 2]);
    }
  }
}

template <int kHeadDim>
struct QueryGradientTile {
  static constexpr int kKeys = kHeadDim <= 32 ? 64 : 32;
  static constexpr int kNumbers = kKeys * kHeadDim;
  static constexpr int kStage = 2 * kNumbers;  ///< keys, then values
  static constexpr int kSharedBytes = kStages * kStage * 2;
  static constexpr int kBlocks = kHeadDim <= 80 ? 3 : 2;
  static_assert(fits(kBlocks, kSharedBytes));
};

/// What a warp keeps of its queries.
template <int kHeadDim>
struct QueryGradients {
  std::uint32_t query[kHeadDim / 16][4];
  std::uint32_t d_out[kHeadDim / 16][4];
  float lse_log2[2];
  float dots[2];
  float sums[kHeadDim / 8][4] = {};

  __device__ __forceinline__ QueryGradients(const BackwardView& view, std::int64_t first_row,
                                            int first_query, int head) {
    load_query_rows<kHeadDim>(query, view.qkv + first_row * view.qkv_stride + head * kHeadDim,
                              view.qkv_stride, first_query, view.sequence);
    load_query_rows<kHeadDim>(d_out, view.d_out + first_row * view.out_stride + head * kHeadDim,
                              view.out_stride, first_query, view.sequence);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = min(lane_query(first_query, half), view.sequence - 1);
      const std::int64_t place = (first_row + row) * view.heads + head;
      lse_log2[half] = view.lse[place] * kLog2_e;
      dots[half] = view.dots[place];
    }
  }

  /// Adds what a tile of keys gives, the first of which is `key`.
  __device__ __forceinline__ void add(const Bf16* keys, const SeenKeys& seen, bool any_hidden,
                                      int key, float scale_log2) {
    using Tile = QueryGradientTile<kHeadDim>;
    float scores[Tile::kKeys / 8][4] = {};
    float d_scores[Tile::kKeys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      add_product_with_rows<kHeadDim, Tile::kKeys>(scores, query[step], keys, step);
      add_product_with_rows<kHeadDim, Tile::kKeys>(d_scores, d_out[step], keys + Tile::kNumbers,
                                                   step);
    }
    if (any_hidden) hide<Tile::kKeys>(scores, seen, key);
    to_d_scores<Tile::kKeys>(d_scores, scores, lse_log2, dots, scale_log2);
#pragma unroll
    for (int row = 0; row < Tile::kKeys; row += 16) {
      std::uint32_t rounded[4];
      round_to_operand(rounded, d_scores[row / 8], d_scores[row / 8 + 1]);
      add_product_with_columns<kHeadDim>(sums, rounded, keys, row);
    }
  }
};

/// Gradients of 64 queries of a head; the last of a sequence go first as they see the most.
template <int kHeadDim>
__global__ void __launch_bounds__(kTileThreads, QueryGradientTile<kHeadDim>::kBlocks)
    attention_d_query_kernel(BackwardView view) {
  using Tile = QueryGradientTile<kHeadDim>;
  constexpr int kKeys = Tile::kKeys;
  ATHANOR_DYNAMIC_SHARED(Bf16, stages);
  const int tiles = tiles_of(view.sequence);
  const BlockPlace place(view.heads, tiles);
  const int head = place.head;
  const std::int64_t first_row = place.sequence * view.sequence;
  const int first_query = (tiles - 1 - place.tile) * kTileRows;
  const std::int32_t* starts = view.document_starts + first_row;
  const Bf16* qkv = view.qkv + first_row * view.qkv_stride;
  const KeyColumns<kHeadDim> columns(view, head / view.group());

  const auto stage_of = [&](int key) { return stages + key / kKeys % kStages * Tile::kStage; };
  const auto begin_copy = [&](int key) {
    Bf16* to = stage_of(key);
    copy_tile<kHeadDim, kKeys>(to, qkv + columns.key, view.qkv_stride, key, view.sequence);
    copy_tile<kHeadDim, kKeys>(to + Tile::kNumbers, qkv + columns.value, view.qkv_stride, key,
                               view.sequence);
    copy_async_commit();
  };
  const QueryTile tile = query_tile(starts, first_query, view.sequence, 0);
  int key = tile.first_key / kKeys * kKeys;
  begin_copy(key);

  const SeenKeys seen(starts, first_query, view.sequence, 0);
  QueryGradients<kHeadDim> gradients(view, first_row, first_query, head);
  const int warp_query = first_query + warp() * kWarpRows;
  for (; key < tile.end_key; key += kKeys) {
    copy_async_wait<0>();
    // This tile is there for all, and no one reads the other stage any more.
    __syncthreads();
    if (key + kKeys < tile.end_key) begin_copy(key + kKeys);
    if (key < warp_query + kWarpRows) {
      const bool any_hidden = key + kKeys - 1 > warp_query || key < tile.latest_start;
      gradients.add(stage_of(key), seen, any_hidden, key, view.scale * kLog2_e);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane_query(first_query, half);
    if (row < view.sequence) {
      store_row<kHeadDim>(view.d_qkv + (first_row + row) * view.qkv_stride + head * kHeadDim,
                          gradients.sums, half, view.scale);
    }
  }
}

template <int kHeadDim>
void launch_backward(Stream stream, const BackwardView& view, std::int64_t rows) {
  const std::int64_t dots = rows * view.heads;
  launch(attention_dots_kernel<kHeadDim>, {blocks_for(dots, kDotWarps), kDotWarps * kWarp}, stream,
         view, dots);
  launch(attention_d_query_kernel<kHeadDim>,
         tile_launch(rows / view.sequence, view.sequence, view.heads,
                     QueryGradientTile<kHeadDim>::kSharedBytes),
         stream, view);
}

}  // namespace

void attention_backward(Stream stream, const AttentionBackward& op) {
  const AttentionShape& shape = op.shape;
  const BackwardView view{.qkv = op.qkv.as<Bf16>(),
                          .out = op.out.as<Bf16>(),
                          .d_out = op.d_out.as<Bf16>(),
                          .lse = op.lse.as<float>(),
                          .dots = op.scratch.as<float>(),
                          .document_starts = op.document_starts.as<std::int32_t>(),
                          .d_qkv = op.d_qkv.as<Bf16>(),
                          .heads = static_cast<int>(shape.heads),
                          .kv_heads = static_cast<int>(shape.kv_heads),
                          .sequence = static_cast<int>(shape.sequence),
                          .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim)),
                          .qkv_stride = static_cast<int>(shape.qkv_width()),
                          .out_stride = static_cast<int>(shape.query_width())};
  const bool known = with_head_dim(shape.head_dim, [&]<int kHeadDim>() {
    launch_backward<kHeadDim>(stream, view, op.qkv.rows());
  });
  assert(known);
  static_cast<void>(known);
  launch_key_gradients(stream, view, shape.head_dim, op.qkv.rows());
}

}  // namespace athanor::cuda
