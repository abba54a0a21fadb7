// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/documents.h"

#include <algorithm>

#include "engine/data/tokenizer.h"

namespace athanor {

namespace {

constexpr std::string_view kMark = Tokenizer::kEndOfText;

/// Where what precedes the line that begins at `line` ends, without its line break.
std::size_t end_before_line(std::string_view text, std::size_t line) {
  if (line > 0 && text[line - 1] == '\n') --line;
  if (line > 0 && text[line - 1] == '\r') --line;
  return line;
}

}  // namespace

std::optional<DocumentEnds::End> DocumentEnds::find(std::string_view text, std::size_t looked_at,
                                                    bool at_end) const {
  const std::size_t from = looked_at - std::min(looked_at, kept_bytes());
  switch (boundary_) {
    case Boundary::mark:
      return find_mark(text, from, at_end);
    case Boundary::blank_line:
      return find_blank_line(text, from, at_end);
    case Boundary::separator: {
      const std::size_t at = text.find(separator_, from);
      if (at == std::string_view::npos) return {};
      return End{at, at + separator_.size()};
    }
    case Boundary::file:
      break;
  }
  return {};
}

std::size_t DocumentEnds::kept_bytes() const {
  switch (boundary_) {
    case Boundary::mark:
      return kMark.size() + 4;  // and the line breaks around it
    case Boundary::blank_line:
      return 4;
    case Boundary::separator:
      return separator_.size();
    case Boundary::file:
      break;
  }
  return 0;
}

std::optional<DocumentEnds::End> DocumentEnds::find_mark(std::string_view text, std::size_t from,
                                                         bool at_end) const {
  for (std::size_t at = text.find(kMark, from); at != std::string_view::npos;
       at = text.find(kMark, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    std::size_t end = at + kMark.size();
    if (end < text.size() && text[end] == '\r') ++end;
    if (end < text.size() && text[end] != '\n') continue;
    if (end == text.size() && !at_end) return {};
    return End{end_before_line(text, at), std::min(end + 1, text.size())};
  }
  return {};
}

std::optional<DocumentEnds::End> DocumentEnds::find_blank_line(std::string_view text,
                                                               std::size_t from,
                                                               bool at_end) const {
  for (std::size_t at = text.find('\n', from); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    std::size_t next = at + 1;
    if (next < text.size() && text[next] == '\r') ++next;
    if (next == text.size() && !at_end) return {};
    if (next < text.size() && text[next] == '\n')
      return End{end_before_line(text, at + 1), next + 1};
  }
  return {};
}

bool DocumentWalker::next(std::string_view& document) {
  static const DocumentEnds ends(Boundary::mark);
  while (!text_.empty()) {
    const DocumentEnds::End end =
        ends.find(text_, 0, true).value_or(DocumentEnds::End{text_.size(), text_.size()});
    document = text_.substr(0, end.document);
    text_.remove_prefix(end.next);
    if (!document.empty()) return true;
  }
  return false;
}

}  // namespace athanor
