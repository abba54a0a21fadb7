// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/tensor/arena.h"
#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Runs whatever operation it is.
void execute(Backend& backend, AnyOperation& operation);

/// How each kind of real tensors is stored.
struct RealTypes {
  DType rows = DType::f32;
  DType weights = DType::f32;
  DType gradients = DType::f32;
  DType statistics = DType::f32;
  DType operands = DType::f32;

  static RealTypes all(DType type) { return {type, type, type, type, type}; }
  DType of(Kind kind) const;
};

/// Copies an operation with all its tensors into other memory. Outputs and scratch are filled with
/// NaN, so that reading them unwritten shows. Tensors that were one stay one, and those that are
/// bf16 already stay that except in f64.
AnyOperation copy_operation(const AnyOperation& from, Arena& arena, const RealTypes& types);

/// Rounds the outputs of one to the types of the other.
void copy_outputs(AnyOperation& to, const AnyOperation& from);

/// Whether the operation has real tensors of this kind, whose type it leaves open.
bool has_reals(AnyOperation operation, Kind kind);

/// The largest error among all outputs of an operation, as a share of its tolerance.
struct Deviation {
  double share = 0;
  std::string place;  ///< "d_weight[17]: 0.5 instead of 0.25, tolerance 1e-6"
};

/// Error that an output element which sums `terms` products may have. Rounding errors add up like a
/// random walk (Higham and Mary, 2019): summing n terms of size s in a plain loop errs by about
/// ε·s·n with ε = 2⁻²⁴, while the sum itself is of size √n·s and the largest of many such sums some
/// three times that; hence √n·ε·magnitude, `magnitude` being the largest absolute output. Four
/// times that leaves room for the few roundings around the sum, and for the worst of many elements.
double tolerance(std::int64_t terms, double gain, double magnitude);

/// What products are made of: tensor cores take bf16, to which what lies within an operation is
/// rounded first (tensor_core_roundings.h).
enum class Arithmetic { compute_type, tensor_cores };

/// What bf16 adds to it for an element e is half the spacing of bf16 numbers at e, for the one
/// rounding where it is written; the reference reads the same rounded inputs, and where an
/// operation goes on from something it has rounded, the same of these (rounded_reference.h). What
/// remains:
/// - Weights that are rounded at random may be a whole spacing away.
/// - LinearBackward with gelu_pre may round the product before it is multiplied by the slope, by
///   2⁻⁸ of it at most, which is at most twice half the spacing at the result.
/// - HeadLoss adds to d_weight once a chunk. All but the last time it rounds a part of the sum,
///   taken to be at most twice the largest of the results.
/// - HeadLoss rounds the gradients g of its logits, with 2⁻⁸·|g| at most. A row of d_x sums them
///   with weights: since Σ|g| ≤ 2·gradient_scale over a row, the error is below
///   2⁻⁸·2·gradient_scale·max|weight|. An element of d_weight sums them over N rows with x, each
///   below gradient_scale, and the errors walk at random as above: 4·√N·2⁻⁸·gradient_scale·max|x|.
/// - What Muon's iteration makes of its roundings (muon_roundings.h).
/// - LoraBackward with dropout rounds the product d_h · a before it drops elements of it and adds
///   the others, scaled by 1 / (1 − rate), to d_x: half a spacing at the largest, scaled likewise.
/// - With Arithmetic::tensor_cores, attention has the further errors of tensor_core_roundings().
Deviation compare(const AnyOperation& actual, const AnyOperation& expected, double gain,
                  Arithmetic arithmetic = Arithmetic::compute_type);

/// Whether all outputs have the same bits.
bool same_bits(const AnyOperation& a, const AnyOperation& b);

/// Adds `tolerances` of what an element may differ by to one element of the first output that is
/// not all zero, as a fault would.
void perturb(AnyOperation& operation, const AnyOperation& expected, double gain, double tolerances);

}  // namespace athanor
