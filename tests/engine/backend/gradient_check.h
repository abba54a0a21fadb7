// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Whether the operation computes gradients that central differences can check.
bool computes_gradients(const AnyOperation& operation);

struct GradientDeviation {
  double relative = 0;  ///< of the scale of the directional derivative
  double scale = 0;     ///< the largest gradient
  std::string place;    ///< "d_weight along direction 2: 0.5 instead of 0.25"
};

/// Runs a backward operation of the reference, in double precision, and compares its gradients with
/// central differences of the forward operation: along every element of small arguments, and along
/// random directions of larger ones. The gradients are multiplied by `fault` first: 1 leaves them
/// right.
GradientDeviation check_gradients(const OperationCase& row, Arena& arena, double fault = 1);

/// What check_gradients may find: central differences with step h err by h² and by the rounding of
/// the loss divided by h, both far below this for h = 1e-5.
inline constexpr double kGradient_tolerance = 1e-6;

}  // namespace athanor
