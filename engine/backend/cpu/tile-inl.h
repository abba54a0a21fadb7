// SPDX-License-Identifier: GPL-3.0-or-later

/// The inner kernel of all products: a tile of the result held in registers, whose rows' left
/// factors are broadcast and whose columns are vectors. Compiled once for each instruction set.
#if defined(ATHANOR_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_TILE_INL_H
#undef ATHANOR_TILE_INL_H
#else
#define ATHANOR_TILE_INL_H
#endif

#include <type_traits>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

/// Rows and vectors of the largest tile: accumulators, one row's vectors and a broadcast fill the
/// registers (32, or 16 up to AVX2).
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
inline constexpr int kTileRows = 12;
#else
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;
/// Terms between two looks at the loop's counter, whose instructions take the adders' slots.
inline constexpr std::int64_t kUnroll = 4;
inline constexpr std::int64_t kTileColumns = kTileVectors * kLanes;

/// The left factor of a tile: element (row, k) is data[row · row_stride + k · depth_stride].
struct LeftView {
  const float* data;
  std::int64_t row_stride;
  std::int64_t depth_stride;
};

/// The right factor: element (k, column) is data[k · stride + column].
struct RightView {
  const float* data;
  std::int64_t stride;
};

template <int kRows, int kVectors>
struct Tile {
  FloatVector at[kRows][kVectors];

  HWY_INLINE void clear() {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j)
        at[i][j] = hn::Zero(kFloat);
    }
  }

  /// Takes what is there, each column times its factor.
  HWY_INLINE void load_scaled(const float* from, std::int64_t stride,
                              const FloatVector (&factors)[kVectors]) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        at[i][j] = hn::Mul(hn::LoadU(kFloat, from + i * stride + j * kLanes), factors[j]);
      }
    }
  }

  /// Adds left[kRows, depth] · right[depth, kVectors · kLanes].
  HWY_INLINE void add_product(LeftView left, RightView right, std::int64_t depth) {
    const float* a = left.data;
    const float* b = right.data;
    std::int64_t k = 0;
    for (; k + kUnroll <= depth; k += kUnroll) {
#pragma GCC unroll 4
      for (std::int64_t step = 0; step < kUnroll; ++step) {
        add_term({a + step * left.depth_stride, left.row_stride, 0}, b + step * right.stride);
      }
      a += kUnroll * left.depth_stride;
      b += kUnroll * right.stride;
    }
    for (; k < depth; ++k) {
      add_term({a, left.row_stride, 0}, b);
      a += left.depth_stride;
      b += right.stride;
    }
  }

  HWY_INLINE void scale(float factor) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j)
        at[i][j] = hn::Mul(at[i][j], set(factor));
    }
  }

  HWY_INLINE void add_term(LeftView left, const float* right) {
    FloatVector columns[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      columns[j] = hn::LoadU(kFloat, right + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const FloatVector factor = set(left.data[i * left.row_stride]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j)
        at[i][j] = hn::MulAdd(factor, columns[j], at[i][j]);
    }
  }

  /// Writes the tile's first `columns` columns, or adds them to what is there.
  template <bool kAdd>
  HWY_INLINE void store(float* to, std::int64_t stride, std::int64_t columns) const {
    if (columns < kVectors * kLanes) {
      store_part<kAdd>(to, stride, columns);
      return;
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        float* place = to + i * stride + j * kLanes;
        const FloatVector old = kAdd ? hn::LoadU(kFloat, place) : hn::Zero(kFloat);
        hn::StoreU(kAdd ? hn::Add(old, at[i][j]) : at[i][j], kFloat, place);
      }
    }
  }

  template <bool kAdd>
  HWY_INLINE void store_part(float* to, std::int64_t stride, std::int64_t columns) const {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        float* place = to + i * stride + j * kLanes;
        const std::int64_t left = columns - j * kLanes;
        if (left <= 0) break;
        const FloatVector old = kAdd ? load_up_to(place, left) : hn::Zero(kFloat);
        store_up_to(kAdd ? hn::Add(old, at[i][j]) : at[i][j], place, left);
      }
    }
  }
};

/// Σ_k a[k] · b[k] for rows stored along k.
template <class A, class B>
HWY_INLINE float dot(const A* a, const B* b, std::int64_t count) {
  FloatVector sums[4] = {set(0), set(0), set(0), set(0)};
  std::int64_t k = 0;
  for (; k + 4 * kLanes <= count; k += 4 * kLanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      sums[j] = hn::MulAdd(load(a + k + j * kLanes), load(b + k + j * kLanes), sums[j]);
    }
  }
  for (; k < count; k += kLanes) {
    sums[0] = hn::MulAdd(load_up_to(a + k, count - k), load_up_to(b + k, count - k), sums[0]);
  }
  return sum_lanes(hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
}

/// Calls body(first_row, constant) over `rows` rows in panels of kTileRows and, at the end, of
/// fewer: the constant is the panel's height.
template <class Body>
HWY_INLINE void for_row_panels(std::int64_t rows, const Body& body) {
  std::int64_t row = 0;
  for (; row + kTileRows <= rows; row += kTileRows) {
    body(row, std::integral_constant<int, kTileRows>());
  }
  if (row + kTileRows * 2 / 3 <= rows) {
    body(row, std::integral_constant<int, kTileRows * 2 / 3>());
    row += kTileRows * 2 / 3;
  }
  if (row + kTileRows / 3 <= rows) {
    body(row, std::integral_constant<int, kTileRows / 3>());
    row += kTileRows / 3;
  }
  for (; row < rows; ++row)
    body(row, std::integral_constant<int, 1>());
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
