// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/data/tokenizer.h"

namespace athanor {

/// How a tokenizer does on a text.
struct TokenizerMeasure {
  std::int32_t vocabulary_size = 0;
  std::int64_t text_bytes = 0;
  std::int64_t words = 0;  ///< what stands between white space
  std::int64_t tokens = 0;
  std::int64_t used_tokens = 0;  ///< different ones
  double seconds = 0;            ///< to encode the text on one thread

  double bytes_per_token() const {
    return tokens > 0 ? static_cast<double>(text_bytes) / static_cast<double>(tokens) : 0;
  }
  double tokens_per_word() const {
    return words > 0 ? static_cast<double>(tokens) / static_cast<double>(words) : 0;
  }
};

/// Encodes `text` as one document. Throws Cancelled within a megabyte of text.
TokenizerMeasure measure_tokenizer(const Tokenizer& tokenizer, std::string_view text,
                                   const CancelToken& cancel);

}  // namespace athanor
