// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

#include "engine/backend/cpu/context.h"
#include "engine/backend/cpu/reals.h"

namespace athanor::cpu {

/// One operand of a product as it lies in memory.
struct Operand {
  Reals data;
  std::int64_t stride = 0;  ///< numbers from one stored row to the next
  bool transposed = false;  ///< its rows are the product's other way round
};

/// c[rows, columns] = factor · a[rows, depth] · b[depth, columns] (+ bias[columns]), or added to c.
/// Each of the four may be f32 or bf16; sums are made in FP32 and rounded to a bf16 c where it is
/// written: once, or, of more than kDepthRound terms, once for as many.
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  Operand a;
  Operand b;
  Reals c;
  std::int64_t c_stride = 0;
  Reals bias;  ///< may be absent; not together with accumulate
  float factor = 1;
  bool accumulate = false;
};

/// Packed product after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
/// (2008). The order in which an element's terms are added follows from the depth and from
/// `rows` ≤ kFewRows alone.
void multiply(Context& context, const Product& product);

/// Terms packed at once, so that at least Context::kPackFloats / kDepthRound columns fit.
inline constexpr std::int64_t kDepthRound = 8192;

/// So few rows are multiplied row by row: packing would cost more than the product.
inline constexpr std::int64_t kFewRows = 4;

}  // namespace athanor::cpu
