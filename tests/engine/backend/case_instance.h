// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/tensor/arena.h"
#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Runs whatever operation it is.
void execute(Backend& backend, AnyOperation& operation);

/// Copies an operation with all its tensors into other memory, reals as `real_type`. Outputs and
/// scratch are filled with NaN, so that reading them unwritten shows. Tensors that were one stay
/// one.
AnyOperation copy_operation(const AnyOperation& from, Arena& arena, DType real_type);

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

Deviation compare(const AnyOperation& actual, const AnyOperation& expected, double gain);

/// Whether all outputs have the same bits.
bool same_bits(const AnyOperation& a, const AnyOperation& b);

/// Adds `tolerances` of them to one element of the first output that is not all zero,
/// as a fault would.
void perturb(AnyOperation& operation, const AnyOperation& expected, double gain, double tolerances);

}  // namespace athanor
