// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>

#include "engine/backend/operations.h"
#include "engine/model/parameters.h"

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
  Tensor adapters;                          ///< flat, as AdapterTable lays them out; optional

  ModelWeights() = default;
  ModelWeights(const Tensor& of_all) : flat(of_all) {}
  explicit ModelWeights(std::span<const PlacedParameter> parameters, const Tensor& of_adapters = {})
      : placed(parameters), adapters(of_adapters) {}

  /// A parameter as numbers; absent for index -1, and where it lies in blocks.
  Tensor numbers(const ParameterTable& table, int index) const {
    if (placed.empty()) return table.view(flat, index);
    return index < 0 ? Tensor() : placed[static_cast<std::size_t>(index)].numbers;
  }
};

}  // namespace athanor
