// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/data/tokenizer.h"
#include "engine/data/tokenizer_description.h"

namespace athanor {

/// What any tokenizer that was accepted must hold to.
inline void use_tokenizer(TokenizerDescription description) {
  const Tokenizer tokenizer(std::move(description), "fuzzed file");
  const std::string text =
      "It's  a\ttest: 12345 <|endoftext|> \xC3\xA9\xE2\x96\x81\xF0\x9F\x98\x80\xFF\n\n";
  for (const std::int32_t id : tokenizer.encode(text + text)) {
    if (id < 0 || id >= tokenizer.vocabulary_size()) __builtin_trap();
    tokenizer.token_bytes(id);
  }
  if (tokenizer.end_of_text() < 0 || tokenizer.end_of_text() >= tokenizer.vocabulary_size()) {
    __builtin_trap();
  }
}

}  // namespace athanor
