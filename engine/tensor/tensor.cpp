// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tensor/tensor.h"

namespace athanor {

std::string Shape::text() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string((*this)[axis]);
  }
  return text + "]";
}

Tensor Tensor::slice_rows(std::int64_t first, std::int64_t count) const {
  assert(first >= 0 && count >= 0 && first + count <= rows());
  Tensor slice = *this;
  if (data != nullptr) slice.data = data + first * row_elements() * size_of(dtype);
  switch (shape.rank()) {
    case 1:
      slice.shape = Shape{count};
      break;
    case 2:
      slice.shape = Shape{count, shape[1]};
      break;
    case 3:
      slice.shape = Shape{count, shape[1], shape[2]};
      break;
    default:
      slice.shape = Shape{count, shape[1], shape[2], shape[3]};
  }
  return slice;
}

Tensor Tensor::reshaped(Shape to) const {
  assert(to.elements() == elements());
  Tensor view = *this;
  view.shape = to;
  return view;
}

}  // namespace athanor
