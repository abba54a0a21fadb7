// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "engine/io/number_format.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// A tensor in a mapped file of a model.
struct StoredTensor {
  std::string name;
  std::string type;                    ///< as the file's format calls it
  std::optional<NumberFormat> format;  ///< absent when such numbers cannot be read
  Shape shape;                         ///< outermost first; a row is whole blocks
  std::span<const std::byte> data;     ///< of all rows; empty when the format is absent
};

}  // namespace athanor
