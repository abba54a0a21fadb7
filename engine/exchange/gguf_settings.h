// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/exchange/foreign_model.h"
#include "engine/io/gguf.h"

namespace athanor {

/// The metadata of a GGUF file as this program's settings; what cannot be honoured is refused
/// (unsupported) naming the key.
ForeignSettings read_gguf_settings(const GgufFile& file, const ForeignOptions& options);

/// The way back: "general.architecture" and what belongs to it.
void add_gguf_settings(GgufMetadata& metadata, const ModelConfig& model, Architecture architecture);

/// Throws unsupported for a model that GGUF has no architecture for, though Hugging Face has.
void check_gguf_has(const ModelConfig& model);

}  // namespace athanor
