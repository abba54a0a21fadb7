// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

#include "engine/data/text_file.h"
#include "engine/data/token_shard.h"
#include "engine/data/tokenizer.h"

namespace athanor {

struct TokenizedCorpus {
  TokenShard::Info train;
  TokenShard::Info validation;
  std::int64_t text_bytes = 0;
  /// Bytes of text in the validation part: bits per byte = nats per token × tokens ÷ bytes ÷ ln 2.
  std::int64_t validation_bytes = 0;
};

/// Cuts a text into documents, tokenizes them and writes <folder>/train.tokens and
/// validation.tokens. Documents end at a line holding only "<|endoftext|>"; a text without any such
/// line is one document. The held-out part is the last `validation_fraction` of the text, cut at a
/// document's end where there are several, else at a line's end; with one long line, at a
/// character's. Throws invalid_argument when the text is too short to give both parts a token.
TokenizedCorpus tokenize_corpus(const TextFile& text, const Tokenizer& tokenizer,
                                double validation_fraction, const std::filesystem::path& folder,
                                const CancelToken& cancel, const ProgressCallback& progress = {});

}  // namespace athanor
