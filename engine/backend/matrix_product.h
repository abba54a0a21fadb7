// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tensor/tensor.h"

namespace athanor {

/// to = a · b + factor · addend, of matrices of one type by rows. What is transposed lies in memory
/// as its transpose. `to` overlaps nothing.
struct MatrixProduct {
  Tensor a;  ///< [m, k]; transposed: [k, m]
  Tensor b;  ///< [k, n]; transposed: [n, k]
  bool a_transposed = false;
  bool b_transposed = false;
  Tensor addend;  ///< [m, n], optional
  float factor = 0;
  Tensor to;  ///< [m, n]

  std::int64_t depth() const { return a.shape[a_transposed ? 0 : 1]; }
};

}  // namespace athanor
