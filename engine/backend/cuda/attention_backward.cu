// SPDX-License-Identifier: GPL-3.0-or-later
#include <cassert>
#include <climits>
#include <cmath>

#include "engine/backend/cuda/attention_tile.h"
#include "engine/backend/cuda/kernels.h"

/// Flash attention's gradients (Dao, 2023) without atomics: weights P are made again from lse, once
/// by blocks that own keys and once by blocks that own queries, each of which adds up its gradients
/// in one order. With D = Σ out · d_out of a row, the gradient of the scores is P ∘ (dP − D).
namespace athanor::cuda {
namespace {

constexpr int kStages = 2;

struct BackwardView {
  const Bf16* qkv;
  const Bf16* out;
  const Bf16* d_out;
  const float* lse;
  float* dots;  ///< [rows, heads], D
  const std::int32_t* document_starts;
  Bf16* d_qkv;
  int heads;
  int kv_heads;
  int sequence;
  float scale;
  int qkv_stride;  ///< numbers from row to row
  int out_stride;

  __device__ __forceinline__ int group() const { return heads / kv_heads; }
};

/// Columns of qkv where the queries, keys and values of a head begin.
template <int kHeadDim>
struct Columns {
  int query;
  int key;
  int value;

  __device__ __forceinline__ Columns(const BackwardView& view, int head, int key_head)
      : query(head * kHeadDim),
        key((view.heads + key_head) * kHeadDim),
        value((view.heads + view.kv_heads + key_head) * kHeadDim) {}
};

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
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    dot += __shfl_xor_sync(kAllLanes, dot, distance);
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
};

/// Gradients of 64 queries of a head. blockIdx as in the forward direction.
template <int kHeadDim>
__global__ void __launch_bounds__(kTileThreads, QueryGradientTile<kHeadDim>::kBlocks)
    attention_d_query_kernel(BackwardView view) {
  using Tile = QueryGradientTile<kHeadDim>;
  constexpr int kKeys = Tile::kKeys;
  ATHANOR_DYNAMIC_SHARED(Bf16, stages);
  const int head = static_cast<int>(blockIdx.x) % view.heads;
  const std::int64_t first_row =
      static_cast<std::int64_t>(static_cast<int>(blockIdx.x) / view.heads) * view.sequence;
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * kTileRows;
  const std::int32_t* starts = view.document_starts + first_row;
  const Bf16* qkv = view.qkv + first_row * view.qkv_stride;
  const Columns<kHeadDim> columns(view, head, head / view.group());

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
  std::uint32_t query[kHeadDim / 16][4];
  std::uint32_t d_out[kHeadDim / 16][4];
  load_query_rows<kHeadDim>(query, qkv + columns.query, view.qkv_stride, first_query,
                            view.sequence);
  load_query_rows<kHeadDim>(d_out, view.d_out + first_row * view.out_stride + columns.query,
                            view.out_stride, first_query, view.sequence);
  float lse_log2[2];
  float dots[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t place = (first_row + seen.last[half]) * view.heads + head;
    lse_log2[half] = view.lse[place] * kLog2_e;
    dots[half] = view.dots[place];
  }
  const int warp_query = first_query + warp() * kWarpRows;
  float d_query[kHeadDim / 8][4] = {};
  for (; key < tile.end_key; key += kKeys) {
    copy_async_wait<0>();
    // This tile is there for all, and no one reads the other stage any more.
    __syncthreads();
    if (key + kKeys < tile.end_key) begin_copy(key + kKeys);
    const Bf16* keys = stage_of(key);
    if (key >= warp_query + kWarpRows) continue;
    float scores[kKeys / 8][4] = {};
    float d_scores[kKeys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      add_product_with_rows<kHeadDim, kKeys>(scores, query[step], keys, step);
      add_product_with_rows<kHeadDim, kKeys>(d_scores, d_out[step], keys + Tile::kNumbers, step);
    }
    if (key + kKeys - 1 > warp_query || key < tile.latest_start) hide<kKeys>(scores, seen, key);
    to_d_scores<kKeys>(d_scores, scores, lse_log2, dots, view.scale * kLog2_e);
#pragma unroll
    for (int row = 0; row < kKeys; row += 16) {
      std::uint32_t rounded[4];
      round_to_operand(rounded, d_scores[row / 8], d_scores[row / 8 + 1]);
      add_product_with_columns<kHeadDim>(d_query, rounded, keys, row);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane_query(first_query, half);
    if (row >= view.sequence) continue;
    store_row<kHeadDim>(view.d_qkv + (first_row + row) * view.qkv_stride + columns.query, d_query,
                        half, view.scale);
  }
}

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

/// What is one number for each query.
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
  /// The terms come last: were they static, launch() could not tell that both exceed 48 KiB.
  static constexpr int kSharedBytes =
      (2 * kKeyNumbers + kStages * kStage) * 2 + static_cast<int>(sizeof(QueryTerms<kQueries>));
  static constexpr int kBlocks = kHeadDim <= 32 ? 3 : 2;
};

/// A thread's query's numbers on their way from memory.
struct QueryTerm {
  float lse_log2;
  float dot;
  int start;

  /// `row` counts within the sequence; rows beyond its end see nothing.
  __device__ __forceinline__ QueryTerm(const BackwardView& view, std::int64_t first_row, int row,
                                       int head)
      : lse_log2(0), dot(0), start(INT_MAX) {
    if (row >= view.sequence) return;
    const std::int64_t place = (first_row + row) * view.heads + head;
    lse_log2 = view.lse[place] * kLog2_e;
    dot = view.dots[place];
    start = view.document_starts[first_row + row];
  }
};

/// Turns transposed scores and weights' gradients [keys, queries] into weights and scores'
/// gradients. The lane's first key is `key`, its first query `query`, the tile's `column`.
template <int kQueries>
__device__ __forceinline__ void to_transposed_d_scores(float (&weights)[kQueries / 8][4],
                                                       float (&d_scores)[kQueries / 8][4],
                                                       const QueryTerms<kQueries>& terms, int stage,
                                                       int key, int first_query, float scale_log2) {
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

/// Gradients of 64 keys of a key head and of their values, from the query heads of its group one
/// after the other. blockIdx.x: sequence · kv_heads + key head. blockIdx.y: keys; the first, which
/// the most queries see, go first.
template <int kHeadDim>
__global__ void __launch_bounds__(kTileThreads, KeyGradientTile<kHeadDim>::kBlocks)
    attention_d_key_kernel(BackwardView view) {
  using Tile = KeyGradientTile<kHeadDim>;
  constexpr int kQueries = Tile::kQueries;
  ATHANOR_DYNAMIC_SHARED(Bf16, keys);
  Bf16* const values = keys + Tile::kKeyNumbers;
  Bf16* const stages = values + Tile::kKeyNumbers;
  auto& terms = *reinterpret_cast<QueryTerms<kQueries>*>(stages + kStages * Tile::kStage);
  const int key_head = static_cast<int>(blockIdx.x) % view.kv_heads;
  const std::int64_t first_row =
      static_cast<std::int64_t>(static_cast<int>(blockIdx.x) / view.kv_heads) * view.sequence;
  const int first_key = static_cast<int>(blockIdx.y) * kTileRows;
  const Bf16* qkv = view.qkv + first_row * view.qkv_stride;
  const Bf16* d_out = view.d_out + first_row * view.out_stride;
  int head = key_head * view.group();
  const int end_head = head + view.group();
  const Columns<kHeadDim> columns(view, head, key_head);

  const auto begin_copy = [&](int stage, int head_now, int query) {
    Bf16* to = stages + stage * Tile::kStage;
    const int column = head_now * kHeadDim;
    copy_tile<kHeadDim, kQueries>(to, qkv + column, view.qkv_stride, query, view.sequence);
    copy_tile<kHeadDim, kQueries>(to + Tile::kNumbers, d_out + column, view.out_stride, query,
                                  view.sequence);
    copy_async_commit();
  };
  const auto store_terms = [&](int stage, const QueryTerm& term) {
    if (threadIdx.x >= kQueries) return;
    terms.lse_log2[stage][threadIdx.x] = term.lse_log2;
    terms.dots[stage][threadIdx.x] = term.dot;
    terms.starts[stage][threadIdx.x] = term.start;
  };
  // Threads with no query of their own look beyond the end.
  const int thread_query = threadIdx.x < kQueries ? static_cast<int>(threadIdx.x) : view.sequence;

  copy_tile<kHeadDim, kTileRows>(keys, qkv + columns.key, view.qkv_stride, first_key,
                                 view.sequence);
  copy_tile<kHeadDim, kTileRows>(values, qkv + columns.value, view.qkv_stride, first_key,
                                 view.sequence);
  begin_copy(0, head, first_key);
  store_terms(0, QueryTerm(view, first_row, first_key + thread_query, head));
  const int end_query = end_of_viewers(view.document_starts + first_row, first_key,
                                       first_key + kTileRows, view.sequence);

  const int warp_key = warp() * kWarpRows;
  float d_keys[kHeadDim / 8][4] = {};
  float d_values[kHeadDim / 8][4] = {};
  int query = first_key;
  for (int stage = 0; head < end_head; stage = 1 - stage) {
    copy_async_wait<0>();
    // This tile is there for all, and no one reads the other stage any more.
    __syncthreads();
    const int first_query = query;
    query += kQueries;
    if (query >= end_query) {
      query = first_key;
      ++head;
    }
    const bool more = head < end_head;
    if (more) begin_copy(1 - stage, head, query);
    const QueryTerm next(view, first_row, (more ? query : view.sequence) + thread_query, head);
    if (first_query + kQueries > first_key + warp_key) {
      const Bf16* queries = stages + stage * Tile::kStage;
      const Bf16* d_outs = queries + Tile::kNumbers;
      float weights[kQueries / 8][4] = {};
      float d_scores[kQueries / 8][4] = {};
#pragma unroll
      for (int step = 0; step < kHeadDim / 16; ++step) {
        std::uint32_t rows[4];
        load_rows_of_tile<kHeadDim>(rows, keys, warp_key, step);
        add_product_with_rows<kHeadDim, kQueries>(weights, rows, queries, step);
        load_rows_of_tile<kHeadDim>(rows, values, warp_key, step);
        add_product_with_rows<kHeadDim, kQueries>(d_scores, rows, d_outs, step);
      }
      to_transposed_d_scores<kQueries>(weights, d_scores, terms, stage,
                                       first_key + warp_key + lane() / 4, first_query,
                                       view.scale * kLog2_e);
#pragma unroll
      for (int row = 0; row < kQueries; row += 16) {
        std::uint32_t rounded[4];
        round_to_operand(rounded, weights[row / 8], weights[row / 8 + 1]);
        add_product_with_columns<kHeadDim>(d_values, rounded, d_outs, row);
        round_to_operand(rounded, d_scores[row / 8], d_scores[row / 8 + 1]);
        add_product_with_columns<kHeadDim>(d_keys, rounded, queries, row);
      }
    }
    store_terms(1 - stage, next);
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = lane_query(first_key, half);
    if (row >= view.sequence) continue;
    Bf16* to = view.d_qkv + (first_row + row) * view.qkv_stride;
    store_row<kHeadDim>(to + columns.key, d_keys, half, view.scale);
    store_row<kHeadDim>(to + columns.value, d_values, half, 1.0F);
  }
}

template <int kHeadDim>
void launch_backward(Stream stream, const BackwardView& view, std::int64_t rows) {
  const auto sequences = static_cast<unsigned>(rows / view.sequence);
  const auto tiles = static_cast<unsigned>((view.sequence + kTileRows - 1) / kTileRows);
  const std::int64_t dots = rows * view.heads;
  launch(attention_dots_kernel<kHeadDim>,
         {.blocks = {static_cast<unsigned>((dots + kDotWarps - 1) / kDotWarps), 1, 1},
          .threads = {kDotWarps * kWarp, 1, 1}},
         stream, view, dots);
  launch(attention_d_query_kernel<kHeadDim>,
         {.blocks = {sequences * static_cast<unsigned>(view.heads), tiles, 1},
          .threads = {kTileThreads, 1, 1},
          .shared_bytes = QueryGradientTile<kHeadDim>::kSharedBytes},
         stream, view);
  launch(attention_d_key_kernel<kHeadDim>,
         {.blocks = {sequences * static_cast<unsigned>(view.kv_heads), tiles, 1},
          .threads = {kTileThreads, 1, 1},
          .shared_bytes = KeyGradientTile<kHeadDim>::kSharedBytes},
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
}

}  // namespace athanor::cuda
