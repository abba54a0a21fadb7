// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "engine/backend/backend.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// Makes tensors on a card with numbers that cost little to make: a stretch of random ones, over
/// and over. Zeros would not do: a card that multiplies them draws less power and runs faster.
class CardTensors {
 public:
  CardTensors(Backend& backend, Arena& arena) : backend_(backend), arena_(arena) {}

  /// Normal numbers in bf16.
  Tensor rows(Shape shape);
  /// The same in f32, or their magnitudes.
  Tensor numbers(Shape shape, float scale = 1);
  Tensor positive(Shape shape, float scale = 1);
  Tensor ids(std::int64_t count, std::int64_t below);
  Tensor codes(std::int64_t count);
  /// Codes at random, with scales.
  QuantisedMatrix quantised(BlockFormat format, std::int64_t out, std::int64_t in);
  /// i32 zeros: one document a sequence.
  Tensor starts(std::int64_t count);
  Tensor space(DType type, Shape shape);
  /// Codes of x [rows, columns], or of xᵀ.
  Fp8 fp8(const Tensor& x, bool transposed);
  /// Scratch for sums over rows of `width` numbers.
  Tensor parts(std::int64_t width) {
    return space(DType::f32, {backend_.traits().reduction_parts, width});
  }

 private:
  template <class Number>
  Tensor filled(DType type, Shape shape, const std::vector<Number>& stretch);

  Backend& backend_;
  Arena& arena_;
};

}  // namespace athanor
