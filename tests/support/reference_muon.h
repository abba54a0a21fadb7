// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/backend/operations.h"

namespace athanor {

/// In double precision, by rows.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> numbers = {};

  double& at(std::int64_t row, std::int64_t column) {
    return numbers[static_cast<std::size_t>(row * columns + column)];
  }
  double at(std::int64_t row, std::int64_t column) const {
    return numbers[static_cast<std::size_t>(row * columns + column)];
  }
  double norm() const;
  double largest() const;
};

/// Called with each matrix that the iteration makes, and how many terms its elements sum.
using Rounding = std::function<void(Matrix&, std::int64_t terms)>;

/// Muon's X after its iterations, of an operation whose momentum has moved on.
Matrix muon_direction(
    const Muon& op, const Rounding& round = [](Matrix&, std::int64_t) {});

/// What X is multiplied with in the step.
double muon_step_length(const Muon& op);

/// Singular values, falling; by Jacobi's rotations of the smaller Gram matrix.
std::vector<double> singular_values(const Matrix& of);

}  // namespace athanor
