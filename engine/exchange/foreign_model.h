// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/tokenizer.h"
#include "engine/exchange/foreign_weights.h"

namespace athanor {

/// What other programs are told of a model beside its shape.
struct ModelCard {
  std::string name;           ///< for people; may be empty
  std::string chat_template;  ///< in Jinja, as Hugging Face has it; empty: the model continues text
  /// The token that every text begins with, unless it is -1.
  std::int32_t begin_of_text = -1;
};

/// The settings in another program's file, as this one's.
struct ForeignSettings {
  Architecture architecture = Architecture::llama;
  ModelConfig model;
  std::vector<std::string> notices;  ///< what a person should know, each a sentence
};

/// A model of another program, open for reading.
struct ForeignModel {
  ForeignSettings settings;
  ForeignWeights weights;
  Tokenizer tokenizer;
  ModelCard card;
};

struct ForeignOptions {
  /// Tokens the model is to see at once, at most as many as it was made for; without it the file's,
  /// but not over kUsualContext.
  std::optional<std::int64_t> context;
};
inline constexpr std::int64_t kUsualContext = 8192;

/// Opens a Hugging Face folder (config.json, tokenizer.json, one or several safetensors files) or a
/// GGUF file; `path` may also be a file of the folder, or a folder with one GGUF file. Whatever in
/// it would change what the model computes and cannot be honoured is refused (unsupported) naming
/// it; damaged files (damaged) likewise.
ForeignModel open_foreign_model(const std::filesystem::path& path, const ForeignOptions& options);

/// The parts of it, for the two kinds.
ForeignModel open_hugging_face(const std::filesystem::path& folder, const ForeignOptions& options);
ForeignModel open_gguf(const std::filesystem::path& file, const ForeignOptions& options);

}  // namespace athanor
