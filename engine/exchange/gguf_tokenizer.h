// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/exchange/foreign_model.h"
#include "engine/io/gguf.h"

namespace athanor {

/// The tokenizer in a GGUF file. Throws damaged or unsupported naming the file.
Tokenizer read_gguf_tokenizer(const GgufFile& file);
/// Its chat template, and the token that it wants before every text; the name is the file's.
ModelCard read_gguf_card(const GgufFile& file);

/// The way back, with as many tokens as the model has: those that stand for nothing are named
/// "[PAD<id>]". Throws unsupported when llama.cpp does not cut texts as this tokenizer does.
void add_gguf_tokenizer(GgufMetadata& metadata, const Tokenizer& tokenizer, std::int64_t vocabulary,
                        const ModelCard& card);

}  // namespace athanor
