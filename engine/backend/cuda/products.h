// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/backend/matrix_product.h"
#include "engine/backend/operations.h"

namespace athanor::cuda {

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
  /// All but op.d_bias; with op.gelu_pre only where has_gelu_slope().
  virtual void linear_backward(const LinearBackward& op) = 0;
  /// Whether d_x can be multiplied by the slope at op.gelu_pre before it is rounded.
  virtual bool has_gelu_slope(const LinearBackward& op) = 0;
  /// Of bf16 matrices; op.to may be f32.
  virtual void multiply(const MatrixProduct& op) = 0;
};

}  // namespace athanor::cuda
