// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <string_view>

#include "engine/model/model_config.h"

namespace athanor {

/// The families of models that other programs know and this one's models can be: RMSNorm before
/// each block, rotary positions, grouped-query attention.
enum class Architecture {
  llama,    ///< gated MLP, its biases optional; also SmolLM2
  mistral,  ///< as llama without biases; its sliding window is not known here
  qwen2,    ///< biases of queries, keys and values
  qwen3,    ///< QK-norm
  arcee,    ///< as llama, with an MLP of two matrices
};
/// As "model_type" in config.json has them.
constexpr std::array<std::string_view, 5> names_of(Architecture) {
  return {"llama", "mistral", "qwen2", "qwen3", "arcee"};
}
constexpr std::string_view name_of(Architecture architecture) {
  return names_of(architecture)[static_cast<std::size_t>(architecture)];
}

/// The one that `model` can be exported as. Throws unsupported naming the option that no
/// architecture has.
Architecture fitting_architecture(const ModelConfig& model);

/// Whether GGUF files of this one have the rows of queries and keys in the order for rotary
/// positions that turn neighbouring elements, as llama.cpp's converter writes them.
constexpr bool interleaved_in_gguf(Architecture architecture) {
  return architecture != Architecture::qwen2 && architecture != Architecture::qwen3;
}

}  // namespace athanor
