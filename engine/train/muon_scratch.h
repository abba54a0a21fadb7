// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/operations.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// What Muon's iterations work on, one matrix after the other.
class MuonScratch {
 public:
  /// The largest of all matrices' numbers and of their Gram matrices'; 0 where there are none.
  struct Sizes {
    std::int64_t matrix_elements = 0;
    std::int64_t gram_elements = 0;

    void include(const Shape& matrix);
  };

  /// Borrows it, in the type that the device multiplies.
  MuonScratch(const Sizes& sizes, DType dtype, Arena& arena);

  /// A step of a matrix of this shape, all of whose scratch is set.
  Muon step_of(const Shape& matrix) const;

 private:
  Tensor x_;
  Tensor next_;
  Tensor gram_;
  Tensor polynomial_;
};

}  // namespace athanor
