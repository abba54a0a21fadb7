// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/backend/operations.h"

namespace athanor::cuda {

/// c = factor · a · b, or added to c. All lie by rows; one that is transposed is stored the other
/// way round.
struct MatrixProduct {
  Tensor a;  ///< bf16 [rows, depth]
  bool a_transposed = false;
  Tensor b;  ///< bf16 [depth, columns]
  bool b_transposed = false;
  Tensor c;  ///< bf16 or f32 [rows, columns]
  float factor = 1;
  bool accumulate = false;

  std::int64_t depth() const { return a_transposed ? a.rows() : a.row_elements(); }
};

/// Matrix products: on a card cuBLASLt's, in tests the processor's. Operands are bf16, sums are
/// made in f32, results are bf16 or f32 and rounded once.
class Products {
 public:
  virtual ~Products() = default;

  /// A sentence for a person about something that went otherwise than usual, once; mostly empty.
  virtual std::string take_notice() { return {}; }

  /// May be written to by all that follows.
  virtual void use_workspace(const Tensor& workspace) = 0;
  /// While on, results have no meaning: each shape is tried in several ways, and the fastest is
  /// taken from then on.
  virtual void tune(bool on) = 0;

  virtual void linear(const Linear& op) = 0;
  /// All but op.d_bias.
  virtual void linear_backward(const LinearBackward& op) = 0;
  virtual void multiply(const MatrixProduct& product) = 0;
};

}  // namespace athanor::cuda
