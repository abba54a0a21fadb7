// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/documents.h"

#include "engine/data/tokenizer.h"

namespace athanor {

namespace {

struct SeparatorLine {
  std::size_t begin;
  std::size_t end;  ///< after its line break
};

/// The first separator line at or after `from`, which is a line's start; begins at the text's end
/// when there is none.
SeparatorLine find_separator(std::string_view text, std::size_t from) {
  constexpr std::string_view kMark = Tokenizer::kEndOfText;
  for (std::size_t at = text.find(kMark, from); at != std::string_view::npos;
       at = text.find(kMark, at + 1)) {
    if (at != from && text[at - 1] != '\n') continue;
    std::size_t end = at + kMark.size();
    if (end < text.size() && text[end] == '\r') ++end;
    if (end == text.size()) return {at, end};
    if (text[end] == '\n') return {at, end + 1};
  }
  return {text.size(), text.size()};
}

std::string_view without_last_line_break(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool DocumentWalker::next(std::string_view& document) {
  while (position_ < text_.size()) {
    const SeparatorLine separator = find_separator(text_, position_);
    document = text_.substr(position_, separator.begin - position_);
    const bool separated = separator.begin < text_.size();
    // A text that merely ends, without a mark, keeps its last line break: nothing was put there.
    if (separated) document = without_last_line_break(document);
    position_ = separator.end;
    if (!document.empty()) return true;
  }
  return false;
}

}  // namespace athanor
