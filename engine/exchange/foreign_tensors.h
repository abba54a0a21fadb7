// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/exchange/architecture.h"
#include "engine/model/parameters.h"

namespace athanor {

enum class FileKind { hugging_face, gguf };

/// A tensor as other programs have it: one parameter, or a stretch of one, such as the queries'
/// rows among those of queries, keys and values. A tensor of rank 1 counts as one row.
struct ForeignTensor {
  std::string name;
  Shape shape;
  int parameter = -1;                ///< index into ParameterTable::all()
  std::int64_t first = 0;            ///< element of the parameter where it begins
  std::int64_t interleaved_dim = 0;  ///< head_dim, where rows are in GGUF's order; else 0

  std::int64_t rows() const { return shape.rank() == 1 ? 1 : shape[0]; }
  std::int64_t row_elements() const { return shape[shape.rank() - 1]; }
  /// Which of the parameter's rows stands at `row` here, both counted from the tensor's beginning;
  /// and the way back.
  std::int64_t own_row(std::int64_t row) const;
  std::int64_t foreign_row(std::int64_t row) const;
};

/// All tensors of a model, in the order in which such files have them.
std::vector<ForeignTensor> foreign_tensors(const ModelConfig& model, const ParameterTable& table,
                                           Architecture architecture, FileKind kind);

}  // namespace athanor
