// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/muon_scratch.h"

#include <algorithm>

namespace athanor {
namespace {

Shape gram_of(const Shape& matrix) {
  const std::int64_t side = std::min(matrix[0], matrix[1]);
  return {side, side};
}

}  // namespace

void MuonScratch::Sizes::include(const Shape& matrix) {
  matrix_elements = std::max(matrix_elements, matrix.elements());
  gram_elements = std::max(gram_elements, gram_of(matrix).elements());
}

MuonScratch::MuonScratch(const Sizes& sizes, DType dtype, Arena& arena) {
  if (sizes.matrix_elements == 0) return;
  const auto borrow = [&](std::int64_t elements, const char* name) {
    return arena.borrow(MemoryRole::workspace, dtype, {elements}, {name});
  };
  x_ = borrow(sizes.matrix_elements, "Muon's matrix");
  next_ = borrow(sizes.matrix_elements, "Muon's next matrix");
  gram_ = borrow(sizes.gram_elements, "Muon's Gram matrix");
  polynomial_ = borrow(sizes.gram_elements, "Muon's polynomial");
}

Muon MuonScratch::step_of(const Shape& matrix) const {
  const auto part = [](const Tensor& of, const Shape& shape) {
    return of.slice_rows(0, shape.elements()).reshaped(shape);
  };
  Muon op;
  op.x = part(x_, matrix);
  op.next = part(next_, matrix);
  op.gram = part(gram_, gram_of(matrix));
  op.polynomial = part(polynomial_, gram_of(matrix));
  return op;
}

}  // namespace athanor
