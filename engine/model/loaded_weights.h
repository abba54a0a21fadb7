// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/io/weight_source.h"
#include "engine/model/model_weights.h"
#include "engine/model/parameters.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// How a model's matrices are kept while it writes: 8 bits are 1.06 bytes a number, 4 bits 0.56.
/// With q4_0 the embedding and the head stay in q8_0: their errors go straight into the words'
/// probabilities.
enum class WeightFormat { as_saved, q8_0, q4_0 };
constexpr std::array<std::string_view, 3> names_of(WeightFormat) {
  return {"as_saved", "q8_0", "q4_0"};
}

/// In what the embedding and the head are kept where the layers' matrices are quantised.
enum class VocabularyFormat { blocks, numbers };

/// Copies one parameter to a tensor of f32, f64 or bf16, to the nearest, a few MiB at a time.
void upload_numbers(const WeightSource& source, int parameter, const Tensor& to, Backend& backend);

/// A model's weights in an arena, each parameter in a place of its own. Matrices whose rows are not
/// whole blocks of 32 stay as they were saved, as do norms and biases.
class LoadedWeights {
 public:
  /// Takes the memory. `numbers` is the type of what is not quantised.
  LoadedWeights(const ParameterTable& table, WeightFormat format, DType numbers, Arena& arena,
                VocabularyFormat vocabulary = VocabularyFormat::blocks);

  /// Copies all parameters, a few MiB at a time. Throws damaged for numbers that cannot be
  /// quantised.
  void load(const WeightSource& source, Backend& backend) const;

  ModelWeights view(const Tensor& adapters = {}) const { return ModelWeights(places_, adapters); }
  /// Matrices that `format` would have had quantised, but that have rows of other sizes.
  int unquantised() const { return unquantised_; }

 private:
  std::vector<Parameter> parameters_;
  std::vector<PlacedParameter> places_;
  int unquantised_ = 0;
};

}  // namespace athanor
