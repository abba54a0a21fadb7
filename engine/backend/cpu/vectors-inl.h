// SPDX-License-Identifier: GPL-3.0-or-later

/// What several kernels need of vectors, compiled once for each instruction set: included between
/// Highway's headers and the kernel's own code.
#if defined(ATHANOR_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_VECTORS_INL_H
#undef ATHANOR_VECTORS_INL_H
#else
#define ATHANOR_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using WordVector = hn::Vec<WordTag>;
constexpr FloatTag kFloat;
constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(FloatTag()));

HWY_INLINE FloatVector set(float value) {
  return hn::Set(kFloat, value);
}

HWY_INLINE FloatVector load(const float* from) {
  return hn::LoadU(kFloat, from);
}

HWY_INLINE void store(FloatVector v, float* to) {
  hn::StoreU(v, kFloat, to);
}

/// The first `count` < kLanes floats, zeros after them; reads nothing beyond.
HWY_INLINE FloatVector load_first(const float* from, std::int64_t count) {
  HWY_ALIGN float lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i)
    lanes[i] = from[i];
  return hn::Load(kFloat, lanes);
}

HWY_INLINE void store_first(FloatVector v, float* to, std::int64_t count) {
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, kFloat, lanes);
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = lanes[i];
}

/// Whole vectors, or the first `count` lanes at the end of a row.
HWY_INLINE FloatVector load_up_to(const float* from, std::int64_t count) {
  return count >= kLanes ? hn::LoadU(kFloat, from) : load_first(from, count);
}

HWY_INLINE void store_up_to(FloatVector v, float* to, std::int64_t count) {
  if (count >= kLanes) {
    hn::StoreU(v, kFloat, to);
  } else {
    store_first(v, to, count);
  }
}

HWY_INLINE float sum_lanes(FloatVector v) {
  return hn::GetLane(hn::SumOfLanes(kFloat, v));
}

/// e^x for x ≤ 0 within 2 ulp; 0 below −87, NaN for NaN. Range reduction after Cody and Waite, then
/// the Taylor polynomial of degree 6 on [−ln 2 / 2, ln 2 / 2].
HWY_INLINE FloatVector exp_nonpositive(FloatVector x) {
  const hn::RebindToSigned<FloatTag> integer;
  const FloatVector n = hn::Round(hn::Mul(x, set(1.44269504F)));
  const FloatVector r =
      hn::NegMulAdd(n, set(-2.12194440e-4F), hn::NegMulAdd(n, set(0.693359375F), x));
  FloatVector p = hn::MulAdd(set(1.0F / 720), r, set(1.0F / 120));
  p = hn::MulAdd(p, r, set(1.0F / 24));
  p = hn::MulAdd(p, r, set(1.0F / 6));
  p = hn::MulAdd(p, r, set(0.5F));
  p = hn::MulAdd(p, r, set(1.0F));
  p = hn::MulAdd(p, r, set(1.0F));
  const auto exponent = hn::Add(hn::ConvertTo(integer, n), hn::Set(integer, 127));
  const FloatVector power = hn::BitCast(kFloat, hn::ShiftLeft<23>(exponent));
  return hn::IfThenZeroElse(hn::Lt(x, set(-87.0F)), hn::Mul(p, power));
}

/// 1 / (1 + e^−x) without overflow and with full relative precision on both sides.
HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const FloatVector e = exp_nonpositive(hn::Neg(hn::Abs(x)));
  const FloatVector numerator = hn::IfThenElse(hn::Lt(x, set(0)), e, set(1));
  return hn::Div(numerator, hn::Add(set(1), e));
}

/// Four vectors of four: rows to columns.
HWY_INLINE void transpose_4x4(const float* from, std::int64_t from_stride, float* to,
                              std::int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + from_stride);
  const auto r2 = hn::LoadU(d, from + 2 * from_stride);
  const auto r3 = hn::LoadU(d, from + 3 * from_stride);
  const auto low02 = hn::InterleaveLower(d, r0, r2);
  const auto low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2);
  const auto high13 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, low02, low13), d, to);
  hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, to + to_stride);
  hn::StoreU(hn::InterleaveLower(d, high02, high13), d, to + 2 * to_stride);
  hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, to + 3 * to_stride);
}

/// to[column][row] = from[row][column].
HWY_INLINE void transpose(const float* from, std::int64_t from_stride, std::int64_t rows,
                          std::int64_t columns, float* to, std::int64_t to_stride) {
  const std::int64_t whole_rows = rows / 4 * 4;
  const std::int64_t whole_columns = columns / 4 * 4;
  for (std::int64_t column = 0; column < whole_columns; column += 4) {
    for (std::int64_t row = 0; row < whole_rows; row += 4) {
      transpose_4x4(from + row * from_stride + column, from_stride, to + column * to_stride + row,
                    to_stride);
    }
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = row < whole_rows ? whole_columns : 0; column < columns; ++column) {
      to[column * to_stride + row] = from[row * from_stride + column];
    }
  }
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
