// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/backend/cuda/device.h"

/// What attention's kernels share: tiles of a head's rows in shared memory, and a warp's products
/// of 16 rows with them on tensor cores. Of a product [16, n] a lane holds, for each 8 columns,
/// elements 2·(l % 4) and the next of row l / 4 and of row l / 4 + 8 (PTX ISA, mma.m16n8k16).
namespace athanor::cuda {

/// Threads of a block, each warp with 16 of its rows.
inline constexpr int kTileWarps = 4;
inline constexpr int kTileThreads = kTileWarps * kWarp;
inline constexpr int kWarpRows = 16;
inline constexpr int kTileRows = kTileWarps * kWarpRows;

/// Tiles that are read one after the other: the next is copied while one is worked on.
inline constexpr int kStages = 2;

/// Whether the shared memory of one multiprocessor holds so many blocks where it is smallest, 100
/// KiB (compute capabilities 8.6, 8.9 and 12.0), of which each block takes 1 KiB more.
constexpr bool fits(int blocks, int shared_bytes) {
  return blocks * (shared_bytes + 1024) <= 100 * 1024;
}

/// Calls run.operator()<head_dim>() if that is one of kSizes; else returns false.
template <int... kSizes, class Run>
bool with_one_of(std::int64_t head_dim, const Run& run) {
  return ((head_dim == kSizes && (run.template operator()<kSizes>(), true)) || ...);
}
/// The same with all sizes of heads that have kernels.
template <class Run>
bool with_head_dim(std::int64_t head_dim, const Run& run) {
  return with_one_of<16, 32, 64, 80, 96, 112, 128>(head_dim, run);
}

inline constexpr float kLog2_e = 1.44269504F;

/// Two neighbouring numbers in one register.
__device__ __forceinline__ std::uint32_t load_pair(const Bf16* from) {
  return *reinterpret_cast<const std::uint32_t*>(from);
}
__device__ __forceinline__ void store_pair(Bf16* to, float low, float high) {
  *reinterpret_cast<std::uint32_t*>(to) = pack_bf16(low, high);
}
__device__ __forceinline__ float low_of(std::uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float high_of(std::uint32_t pair) {
  return __uint_as_float(pair & 0xFFFF0000U);
}

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % kWarp;
}
__device__ __forceinline__ int warp() {
  return static_cast<int>(threadIdx.x) / kWarp;
}

/// What a block works on. Blocks of all heads and tiles of a sequence follow each other, so that
/// its keys are read from the second-level cache.
struct BlockPlace {
  int head;
  int tile;
  std::int64_t sequence;

  __device__ __forceinline__ BlockPlace(int heads, int tiles)
      : head(static_cast<int>(blockIdx.x) % heads),
        tile(static_cast<int>(blockIdx.x) / heads % tiles),
        sequence(static_cast<int>(blockIdx.x) / heads / tiles) {}
};

/// Tiles of a sequence of so many rows.
__host__ __device__ constexpr int tiles_of(int rows) {
  return (rows + kTileRows - 1) / kTileRows;
}
/// The launch that gives each block such a place.
inline LaunchShape tile_launch(std::int64_t sequences, int rows, int heads, int shared_bytes) {
  return {.blocks = {static_cast<unsigned>(sequences * tiles_of(rows) * heads), 1, 1},
          .threads = {kTileThreads, 1, 1},
          .shared_bytes = static_cast<std::size_t>(shared_bytes)};
}

/// Over the four lanes that hold a row.
__device__ __forceinline__ float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
__device__ __forceinline__ float row_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

__device__ __forceinline__ int warp_min(int x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    x = min(x, __shfl_xor_sync(kAllLanes, x, distance));
  return x;
}
__device__ __forceinline__ int warp_max(int x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    x = max(x, __shfl_xor_sync(kAllLanes, x, distance));
  return x;
}

/// Rows of a head in shared memory, in chunks of 16 bytes. A row's chunks are permuted so that the
/// same chunk of eight rows, as load_matrices reads them, lies in eight different sets of banks:
/// where rows begin in only 8 / kPermuted sets, chunks change places among kPermuted.
template <int kHeadDim>
struct TileLayout {
  static_assert(kHeadDim % 16 == 0);
  static constexpr int kChunk = 8;  ///< numbers
  static constexpr int kChunks = kHeadDim / kChunk;
  static constexpr int kSteps = kHeadDim / 16;  ///< of a product that sums over the head
  static constexpr int kPower = kChunks & -kChunks;
  static constexpr int kPermuted = kPower < 8 ? kPower : 8;

  static __device__ __forceinline__ int permutation(int row) {
    return row / (8 / kPermuted) % kPermuted;
  }

  /// Where a chunk of a row begins.
  static __device__ __forceinline__ int at(int row, int chunk) {
    return (row * kChunks + (chunk ^ permutation(row))) * kChunk;
  }

  /// What load_matrices of this lane reads for four matrices that make 16 rows and 16 columns, from
  /// row first_row and column 16·step on: those of rows 0–7, of rows 8–15, then the same with
  /// columns 8–15. first_row is a multiple of 8. Only one bit operation depends on the step.
  static __device__ __forceinline__ int square(int first_row, int step) {
    const int row = lane() % 16;
    const int place = row * kChunks + (lane() / 16 ^ permutation(row));
    const int chunk = 2 * step;
    const int within = chunk % kPermuted;
    return ((place ^ within) + first_row * kChunks + chunk - within) * kChunk;
  }
};

/// Begins to copy rows [first, first + kRows) of a head to a tile, zeros for rows from `end` on;
/// first < end. `from` is row 0, rows are `stride` numbers apart.
template <int kHeadDim, int kRows>
__device__ __forceinline__ void copy_tile(Bf16* tile, const Bf16* from, int stride, int first,
                                          int end) {
  using Layout = TileLayout<kHeadDim>;
  constexpr int kCopies = kRows * Layout::kChunks;
  from += static_cast<std::int64_t>(first) * stride;
  const int last = end - first - 1;
  // Unrolled, addresses would take the registers that sums need.
#pragma unroll 1
  for (int start = 0; start < kCopies; start += kTileThreads) {
    const int i = start + static_cast<int>(threadIdx.x);
    if (kCopies % kTileThreads != 0 && i >= kCopies) break;
    const int row = i / Layout::kChunks;
    const int chunk = i % Layout::kChunks;
    copy_async_16(tile + Layout::at(row, chunk),
                  from + min(row, last) * stride + chunk * Layout::kChunk, row <= last);
  }
}

/// Columns [16·step, 16·step + 16) of 16 rows of a tile as a first operand.
template <int kHeadDim>
__device__ __forceinline__ void load_rows_of_tile(std::uint32_t (&a)[4], const Bf16* tile,
                                                  int first_row, int step) {
  load_matrices(a, tile + TileLayout<kHeadDim>::square(first_row, step));
}

/// to[16, kColumns] += a · tileᵀ, of which a has columns [16·step, 16·step + 16).
template <int kHeadDim, int kColumns>
__device__ __forceinline__ void add_product_with_rows(float (&to)[kColumns / 8][4],
                                                      const std::uint32_t (&a)[4], const Bf16* tile,
                                                      int step) {
#pragma unroll
  for (int row = 0; row < kColumns; row += 16) {
    std::uint32_t b[4];
    load_matrices(b, tile + TileLayout<kHeadDim>::square(row, step));
    const std::uint32_t first[2] = {b[0], b[2]};
    const std::uint32_t second[2] = {b[1], b[3]};
    mma_bf16(to[row / 8], a, first);
    mma_bf16(to[row / 8 + 1], a, second);
  }
}

/// to[16, head] += a · rows [first_row, first_row + 16) of the tile.
template <int kHeadDim>
__device__ __forceinline__ void add_product_with_columns(float (&to)[kHeadDim / 8][4],
                                                         const std::uint32_t (&a)[4],
                                                         const Bf16* tile, int first_row) {
#pragma unroll
  for (int step = 0; step < kHeadDim / 16; ++step) {
    std::uint32_t b[4];
    load_matrices_transposed(b, tile + TileLayout<kHeadDim>::square(first_row, step));
    const std::uint32_t first[2] = {b[0], b[1]};
    const std::uint32_t second[2] = {b[2], b[3]};
    mma_bf16(to[2 * step], a, first);
    mma_bf16(to[2 * step + 1], a, second);
  }
}

/// Two neighbours of 8 columns of a product as a first operand of 16 columns, rounded.
__device__ __forceinline__ void round_to_operand(std::uint32_t (&a)[4], const float (&left)[4],
                                                 const float (&right)[4]) {
  a[0] = pack_bf16(left[0], left[1]);
  a[1] = pack_bf16(left[2], left[3]);
  a[2] = pack_bf16(right[0], right[1]);
  a[3] = pack_bf16(right[2], right[3]);
}

/// Writes row l / 4 (half 0) or l / 4 + 8 (half 1) of sums, times a factor, to a head's row.
template <int kHeadDim>
__device__ __forceinline__ void store_row(Bf16* row, const float (&sums)[kHeadDim / 8][4], int half,
                                          float factor) {
#pragma unroll
  for (int n = 0; n < kHeadDim / 8; ++n) {
    store_pair(row + 8 * n + 2 * (lane() % 4), sums[n][2 * half] * factor,
               sums[n][2 * half + 1] * factor);
  }
}

/// The queries of a block, and what they see.
struct QueryTile {
  int first_key;     ///< that any of them sees
  int latest_start;  ///< keys from here on are hidden from later queries only
  int end_key;       ///< one past the last that any sees
};

/// Queries [first, first + kTileRows) of `queries`, where query i stands at key i + first_position
/// and sees from starts[i] on, or from 0 where `starts` is null.
__device__ __forceinline__ QueryTile query_tile(const std::int32_t* starts, int first, int queries,
                                                int first_position) {
  const int last = min(first + kTileRows, queries) - 1;
  QueryTile tile{0, 0, last + first_position + 1};
  if (starts == nullptr) return tile;
  const int one = starts[min(first + lane(), last)];
  const int other = starts[min(first + kWarp + lane(), last)];
  static_assert(kTileRows == 2 * kWarp);
  tile.first_key = warp_min(min(one, other));
  tile.latest_start = warp_max(max(one, other));
  return tile;
}

/// The query, or key, of a lane's row l / 4 (half 0) or l / 4 + 8 (half 1).
__device__ __forceinline__ int lane_query(int first_query, int half) {
  return first_query + warp() * kWarpRows + lane() / 4 + 8 * half;
}

/// A head's rows of a warp's queries as first operands, straight from memory. Queries beyond the
/// last repeat it. `from` is row 0, rows are `stride` numbers apart.
template <int kHeadDim>
__device__ __forceinline__ void load_query_rows(std::uint32_t (&a)[kHeadDim / 16][4],
                                                const Bf16* from, int stride, int first_query,
                                                int queries) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::int64_t query = min(lane_query(first_query, half), queries - 1);
    const Bf16* row = from + query * stride + 2 * (lane() % 4);
#pragma unroll
    for (int step = 0; step < kHeadDim / 16; ++step) {
      a[step][half] = load_pair(row + 16 * step);
      a[step][half + 2] = load_pair(row + 16 * step + 8);
    }
  }
}

/// Keys that a lane's two queries see: from first[half] to last + 8·half. Queries beyond the last
/// are not written, and see something or other.
struct SeenKeys {
  int first[2];
  int last;

  __device__ __forceinline__ SeenKeys(const std::int32_t* starts, int first_query, int queries,
                                      int first_position)
      : last(lane_query(first_query, 0) + first_position) {
#pragma unroll
    for (int half = 0; half < 2; ++half)
      first[half] = starts == nullptr ? 0 : starts[min(lane_query(first_query, half), queries - 1)];
  }
};

/// Sets scores of keys that a query does not see to −∞; `key` is the first of the scores.
template <int kKeys>
__device__ __forceinline__ void hide(float (&scores)[kKeys / 8][4], const SeenKeys& seen, int key) {
  key += 2 * (lane() % 4);
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int half = i / 2;
      const int place = key + 8 * n + i % 2;
      if (place > seen.last + 8 * half || place < seen.first[half]) scores[n][i] = -INFINITY;
    }
  }
}

}  // namespace athanor::cuda
