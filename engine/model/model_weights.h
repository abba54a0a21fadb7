// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>

#include "engine/backend/operations.h"

namespace athanor {

/// A parameter in a place of its own: as numbers, or a matrix in blocks.
struct PlacedParameter {
  Tensor numbers;
  QuantisedMatrix blocks;
};

/// The weights that a pass reads.
struct ModelWeights {
  Tensor flat;                              ///< all of them, as ParameterTable lays them out
  std::span<const PlacedParameter> placed;  ///< by index in the table; when empty, `flat` has them

  ModelWeights() = default;
  ModelWeights(const Tensor& of_all) : flat(of_all) {}
  explicit ModelWeights(std::span<const PlacedParameter> parameters) : placed(parameters) {}
};

}  // namespace athanor
