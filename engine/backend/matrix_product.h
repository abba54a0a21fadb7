// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tensor/tensor.h"

namespace athanor {

/// to = factor · a · b + kept · addend, of matrices by rows. What is transposed lies in memory as
/// its transpose. `to` overlaps nothing but the addend, which it may be.
struct MatrixProduct {
  Tensor a;  ///< [m, k]; transposed: [k, m]
  Tensor b;  ///< [k, n]; transposed: [n, k]
  bool a_transposed = false;
  bool b_transposed = false;
  float factor = 1;
  Tensor addend = {};  ///< [m, n], of the type of `to`, optional
  float kept = 0;
  Tensor to;  ///< [m, n]

  std::int64_t depth() const { return a.shape[a_transposed ? 0 : 1]; }
};

}  // namespace athanor
