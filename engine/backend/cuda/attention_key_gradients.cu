// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <climits>

#include "engine/backend/cuda/attention_backward.h"
#include "engine/backend/cuda/attention_tile.h"

/// Gradients of keys and values: a block takes 64 keys of a key head through the tiles of queries
/// that see them, head after head of its group. Scores are made transposed, [keys, queries], so
/// that weights and gradients are operands of the next products where they are.
namespace athanor::cuda {
namespace {

/// What is one number for each query of a stage.
template <int kQueries>
struct QueryTerms {
  float lse_log2[kStages][kQueries];
  float dots[kStages][kQueries];
  int starts[kStages][kQueries];
};

template <int kHeadDim>
struct KeyGradientTile {
  static constexpr int kQueries = kHeadDim <= 96 ? 32 : 16;
  static constexpr int kKeyNumbers = kTileRows * kHeadDim;
  static constexpr int kNumbers = kQueries * kHeadDim;
  static constexpr int kStage = 2 * kNumbers;  ///< queries, then the outputs' gradients
  using Terms = QueryTerms<kQueries>;
  /// The terms come last: were they static, launch() could not tell that both exceed 48 KiB.
  static constexpr int kSharedBytes =
      (2 * kKeyNumbers + kStages * kStage) * 2 + static_cast<int>(sizeof(Terms));
  static constexpr int kBlocks = kHeadDim <= 32 ? 3 : 2;
  static constexpr int kStaticBytes = 128;  ///< at most
  static_assert(fits(kBlocks, kSharedBytes + kStaticBytes));

  const Bf16* keys;
  const Bf16* values;
  const Bf16* stages;
  const Terms& terms;
};

/// The keys of one block.
struct KeyBlock {
  int key_head;
  int first_key;  ///< within the sequence
  std::int64_t first_row;

  /// The first keys of a sequence, which the most queries see, go first.
  __device__ __forceinline__ explicit KeyBlock(const BackwardView& view) {
    const BlockPlace place(view.kv_heads, tiles_of(view.sequence));
    key_head = place.head;
    first_key = place.tile * kTileRows;
    first_row = place.sequence * view.sequence;
  }
};

/// One past the last row that sees a key before end_key, of rows from first_row on.
__device__ __forceinline__ int end_of_viewers(const std::int32_t* starts, int first_row,
                                              int end_key, int rows) {
  ATHANOR_SHARED(int, ends, [kTileWarps]);
  int end = 0;
  for (int row = first_row + static_cast<int>(threadIdx.x); row < rows; row += kTileThreads) {
    if (starts[row] < end_key) end = row + 1;
  }
  end = warp_max(end);
  if (lane() == 0) ends[warp()] = end;
  __syncthreads();
  for (int i = 0; i < kTileWarps; ++i)
    end = max(end, ends[i]);
  return end;
}

/// A thread's query's numbers on their way from memory: nothing waits for them before store().
struct QueryTerm {
  float lse = 0;
  float dot = 0;
  int start = INT_MAX;

  /// `row` counts within the sequence; rows beyond its end see nothing.
  __device__ __forceinline__ QueryTerm(const BackwardView& view, std::int64_t first_row, int row,
                                       int head) {
    if (row < view.sequence) {
      const std::int64_t place = (first_row + row) * view.heads + head;
      lse = view.lse[place];
      dot = view.dots[place];
      start = view.document_starts[first_row + row];
    }
  }

  template <int kQueries>
  __device__ __forceinline__ void store(QueryTerms<kQueries>& to, int stage) const {
    if (threadIdx.x < kQueries) {
      to.lse_log2[stage][threadIdx.x] = lse * kLog2_e;
      to.dots[stage][threadIdx.x] = dot;
      to.starts[stage][threadIdx.x] = start;
    }
  }
};

/// Turns transposed scores and weights' gradients into weights and scores' gradients. The lane's
/// first key is `key`; its columns are queries from first_query on.
template <int kQueries>
__device__ __forceinline__ void to_weights(float (&weights)[kQueries / 8][4],
                                           float (&d_scores)[kQueries / 8][4],
                                           const QueryTerms<kQueries>& terms, int stage, int key,
                                           int first_query, float scale_log2) {
#pragma unroll
  for (int n = 0; n < kQueries / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = 8 * n + 2 * (lane() % 4) + i % 2;
      const int place = key + i / 2 * 8;
      const bool seen = place <= first_query + column && place >= terms.starts[stage][column];
      const float weight = exp2f(fmaf(weights[n][i], scale_log2, -terms.lse_log2[stage][column]));
      weights[n][i] = seen ? weight : 0.0F;
      d_scores[n][i] = weights[n][i] * (d_scores[n][i] - terms.dots[stage][column]);
    }
  }
}

/// Sums of a warp's 16 keys.
template <int kHeadDim>
struct KeyGradients {
  float d_keys[kHeadDim / 8][4] = {};
  float d_values[kHeadDim / 8][4] = {};

  /// Adds what a stage of queries gives, the first of which is `first_query`.
  __device__ __forceinline__ void add(const KeyGradientTile<kHeadDim>& tile, int stage,
                                      int first_key, int first_query, float scale_log2) {
    using Tile = KeyGradientTile<kHeadDim>;
    constexpr int kQueries = Tile::kQueries;
    const Bf16* queries = tile.stages + stage * Tile::kStage;
    const Bf16* d_outs = queries + Tile::kNumbers;
    const int warp_key = warp() * kWarpRows;
    float weights[kQueries / 8][4] = {};
    float d_scores[kQueries / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      std::uint32_t rows[4];
      load_rows_of_tile<kHeadDim>(rows, tile.keys, warp_key, step);
      add_product_with_rows<kHeadDim, kQueries>(weights, rows, queries, step);
      load_rows_of_tile<kHeadDim>(rows, tile.values, warp_key, step);
      add_product_with_rows<kHeadDim, kQueries>(d_scores, rows, d_outs, step);
    }
    to_weights<kQueries>(weights, d_scores, tile.terms, stage, first_key + warp_key + lane() / 4,
                         first_query, scale_log2);
#pragma unroll
    for (int row = 0; row < kQueries; row += 16) {
      std::uint32_t rounded[4];
      round_to_operand(rounded, weights[row / 8], weights[row / 8 + 1]);
      add_product_with_columns<kHeadDim>(d_values, rounded, d_outs, row);
      round_to_operand(rounded, d_scores[row / 8], d_scores[row / 8 + 1]);
      add_product_with_columns<kHeadDim>(d_keys, rounded, queries, row);
    }
  }

  __device__ __forceinline__ void write(const BackwardView& view, const KeyBlock& block) const {
    const KeyColumns<kHeadDim> columns(view, block.key_head);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane_query(block.first_key, half);
      if (row < view.sequence) {
        Bf16* to = view.d_qkv + (block.first_row + row) * view.qkv_stride;
        store_row<kHeadDim>(to + columns.key, d_keys, half, view.scale);
        store_row<kHeadDim>(to + columns.value, d_values, half, 1.0F);
      }
    }
  }
};

template <int kHeadDim>
__global__ void __launch_bounds__(kTileThreads, KeyGradientTile<kHeadDim>::kBlocks)
    attention_d_key_kernel(BackwardView view) {
  using Tile = KeyGradientTile<kHeadDim>;
  constexpr int kQueries = Tile::kQueries;
  ATHANOR_DYNAMIC_SHARED(Bf16, keys);
  Bf16* const values = keys + Tile::kKeyNumbers;
  Bf16* const stages = values + Tile::kKeyNumbers;
  auto& terms = *reinterpret_cast<typename Tile::Terms*>(stages + kStages * Tile::kStage);
  const Tile tile{keys, values, stages, terms};
  const KeyBlock block(view);
  const Bf16* qkv = view.qkv + block.first_row * view.qkv_stride;
  const Bf16* d_out = view.d_out + block.first_row * view.out_stride;
  const KeyColumns<kHeadDim> columns(view, block.key_head);

  const auto begin_copy = [&](int stage, int head, int query) {
    Bf16* to = stages + stage * Tile::kStage;
    copy_tile<kHeadDim, kQueries>(to, qkv + head * kHeadDim, view.qkv_stride, query, view.sequence);
    copy_tile<kHeadDim, kQueries>(to + Tile::kNumbers, d_out + head * kHeadDim, view.out_stride,
                                  query, view.sequence);
    copy_async_commit();
  };
  // Threads with no query of their own look beyond the end.
  const int own_query = threadIdx.x < kQueries ? static_cast<int>(threadIdx.x) : view.sequence;
  int head = block.key_head * view.group();
  const int end_head = head + view.group();

  copy_tile<kHeadDim, kTileRows>(keys, qkv + columns.key, view.qkv_stride, block.first_key,
                                 view.sequence);
  copy_tile<kHeadDim, kTileRows>(values, qkv + columns.value, view.qkv_stride, block.first_key,
                                 view.sequence);
  begin_copy(0, head, block.first_key);
  QueryTerm(view, block.first_row, block.first_key + own_query, head).store(terms, 0);
  const int end_query = end_of_viewers(view.document_starts + block.first_row, block.first_key,
                                       block.first_key + kTileRows, view.sequence);
  KeyGradients<kHeadDim> gradients;
  int query = block.first_key;
  for (int stage = 0; head < end_head; stage = 1 - stage) {
    copy_async_wait<0>();
    // This stage is there for all, and no one reads the other any more.
    __syncthreads();
    const int first_query = query;
    query += kQueries;
    if (query >= end_query) {
      query = block.first_key;
      ++head;
    }
    const bool more = head < end_head;
    if (more) begin_copy(1 - stage, head, query);
    const QueryTerm next(view, block.first_row, (more ? query : view.sequence) + own_query, head);
    if (first_query + kQueries > block.first_key + warp() * kWarpRows)
      gradients.add(tile, stage, block.first_key, first_query, view.scale * kLog2_e);
    next.store(terms, 1 - stage);
  }
  gradients.write(view, block);
}

}  // namespace

void launch_key_gradients(Stream stream, const BackwardView& view, std::int64_t head_dim,
                          std::int64_t rows) {
  const bool known = with_head_dim(head_dim, [&]<int kHeadDim>() {
    launch(attention_d_key_kernel<kHeadDim>,
           tile_launch(rows / view.sequence, view.sequence, view.kv_heads,
                       KeyGradientTile<kHeadDim>::kSharedBytes),
           stream, view);
  });
  assert(known);
  static_cast<void>(known);
}

}  // namespace athanor::cuda
