// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "engine/base/cancel_token.h"
#include "engine/data/progress.h"
#include "engine/data/tokenizer.h"
#include "engine/exchange/foreign_model.h"
#include "engine/io/weight_source.h"

namespace athanor {

/// A checkpoint with all that other programs need to use it. Borrows everything.
struct ExportSource {
  const ModelConfig& model;
  const WeightSource& weights;
  const Tokenizer& tokenizer;
  const ModelCard& card;
};

struct ExportOptions {
  FileKind kind = FileKind::hugging_face;
  /// Of the matrices: f32 or bf16 for Hugging Face; f32, f16, bf16, q8_0 or q4_0 for GGUF.
  NumberFormat type = NumberFormat::f32;
};

/// Writes a new folder, whole or not at all: a Hugging Face one (config.json,
/// generation_config.json, model.safetensors, tokenizer.json, tokenizer_config.json), or
/// <name>-<type>.gguf with an Ollama Modelfile. Weights are read and written a few MiB at a time.
/// Throws unsupported naming the option that the other programs do not have, invalid_argument for a
/// type that the kind does not have or a place that is taken, io for a full disk, and Cancelled.
void export_model(const ExportSource& source, const ExportOptions& options,
                  const std::filesystem::path& folder, const CancelToken& cancel,
                  const ProgressCallback& progress);

/// What the matrices of a kind of file can be written as.
std::span<const NumberFormat> export_types(FileKind kind);

/// Bytes of the weights as they would be exported, before anything is written. Throws as
/// export_model does for options and models that do not go together.
std::int64_t exported_bytes(const ModelConfig& model, const ExportOptions& options);

/// A file name made of a model's: letters, digits, "-", "_" and ".".
std::string file_name_of(const std::string& name);

}  // namespace athanor
