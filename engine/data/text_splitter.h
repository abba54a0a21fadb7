// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

/// Cuts text into pieces that are encoded one by one. Immutable and thread-safe.
class TextSplitter {
 public:
  virtual ~TextSplitter() = default;
  /// Appends the pieces of `text`, which is UTF-8; none is empty.
  virtual void split(std::string_view text, std::vector<std::string_view>& pieces) const = 0;
};

/// What becomes of a pattern's matches and of what lies between them, as `tokenizers` names it.
enum class SplitBehavior {
  isolated,              ///< both are pieces
  removed,               ///< matches are dropped
  merged_with_previous,  ///< a match ends the piece before it
  merged_with_next,      ///< a match begins the piece after it
  contiguous,            ///< as isolated, but neighbouring matches are one piece
};

/// The patterns that known models cut with, by their usual name; each has a scanner of its own,
/// written by hand. Source: the models' tokenizer.json and tiktoken's openai_public.py.
enum class KnownPattern {
  gpt2,    ///< also r50k and p50k
  cl100k,  ///< as tiktoken has it: white space at the text's end is one piece
  llama3,  ///< cl100k without that
  qwen2,   ///< numbers digit by digit; also Qwen 3
  qwen35,  ///< as qwen2, with marks as parts of words
  o200k,   ///< words also end between lower and upper case
};

/// The expression as `tokenizers` takes it (Oniguruma).
std::string_view expression_of(KnownPattern pattern);
/// The known pattern that `expression` is a spelling of; null when it is none.
const KnownPattern* known_pattern(std::string_view expression);

std::unique_ptr<TextSplitter> make_scanner(KnownPattern pattern);
/// Single characters of \p{N}, or runs of them, are pieces.
std::unique_ptr<TextSplitter> make_digit_splitter(bool individual);
/// Any other expression, by PCRE2. What Oniguruma and PCRE2 do not surely understand alike throws
/// unsupported naming it. With `inverted`, matches and what lies between change their parts.
std::unique_ptr<TextSplitter> make_pattern_splitter(const std::string& expression,
                                                    SplitBehavior behavior, bool inverted);
/// The same for a text that is to be found as it stands.
std::unique_ptr<TextSplitter> make_literal_splitter(const std::string& literal,
                                                    SplitBehavior behavior, bool inverted);
/// Words with the run of "▁" before them.
std::unique_ptr<TextSplitter> make_mark_splitter();

}  // namespace athanor
