// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/data/text_normalizer.h"
#include "engine/data/text_splitter.h"
#include "engine/data/tokenizer_description.h"

namespace athanor {

/// What happens to a text before its pieces are encoded, and to tokens when they become text.
struct TokenizerPipeline {
  std::vector<NormalizerStep> normalizer;
  std::vector<NormalizerStep> preparation;  ///< changes made after normalized tokens were found
  std::vector<std::unique_ptr<TextSplitter>> splitters;  ///< each cuts the pieces of the one before
  bool byte_level = false;         ///< pieces are bytes, tokens spelled in GPT-2's alphabet
  bool marks_are_spaces = false;   ///< "▁" in a token is a space
  bool drops_first_space = false;  ///< decoding leaves out a space that encoding puts before a text
  bool cuts_words = false;         ///< by a known pattern, so that words and lines end pieces
};

/// U+2581, which SentencePiece writes for a space.
constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

/// Throws unsupported, naming the part of `name` that cannot be honoured.
TokenizerPipeline read_pipeline(const TokenizerDescription& description, const std::string& name);

/// The "pre_tokenizer" of a byte-level tokenizer that cuts by `pattern`, and its "decoder".
std::string pre_tokenizer_json(KnownPattern pattern);
constexpr const char* kByteLevelDecoder =
    R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";

}  // namespace athanor
