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
  /// What has no FP8 product is made in bf16, and take_notice() says so.
  virtual void linear(const LinearFp8& op) = 0;
  /// All but d_bias.
  virtual void linear_backward(const LinearBackwardFp8& op) = 0;
};

/// Whether cards have FP8 products of x [rows, in] and weight [out, in], their library willing: all
/// rows of operands and results must begin on multiples of 16 bytes.
bool in_fp8_extents(std::int64_t rows, std::int64_t in, std::int64_t out);
/// The notice of one that is made in bf16; `reason` is its end.
std::string no_fp8_notice(std::int64_t rows, std::int64_t in, std::int64_t out,
                          const std::string& reason);
inline constexpr const char* kNot_fp8_extents = "FP8 needs multiples of 16";

}  // namespace athanor::cuda
