// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tensor/tensor.h"

namespace athanor {

/// to = factor · a · b + kept · addend, of matrices by rows. What is transposed lies in memory as
/// its transpose. `to` overlaps nothing but the addend, which it may be. Strides are numbers from
/// one stored row to the next; 0: they follow each other.
struct MatrixProduct {
  Tensor a;  ///< [m, k]; transposed: [k, m]
  std::int64_t a_stride = 0;
  Tensor b;  ///< [k, n]; transposed: [n, k]
  bool a_transposed = false;
  bool b_transposed = false;
  float factor = 1;
  Tensor addend = {};  ///< [m, n], of the type and stride of `to`, optional
  float kept = 0;
  Tensor to;  ///< [m, n]
  std::int64_t to_stride = 0;

  std::int64_t depth() const { return a.shape[a_transposed ? 0 : 1]; }
};

}  // namespace athanor
