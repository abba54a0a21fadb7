// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/data/corpus_source.h"

namespace athanor {

/// Finds the ends of a plain text's documents in as much of it as is there.
class DocumentEnds {
 public:
  explicit DocumentEnds(Boundary boundary, std::string separator = {})
      : boundary_(boundary), separator_(std::move(separator)) {}

  struct End {
    std::size_t document;  ///< where the document ends
    std::size_t next;      ///< where the next one begins, at the earliest
  };
  /// The first end in `text`, which begins with a document; of its bytes before `looked_at` it is
  /// known that none is there. Nothing when there is none, or when what decides is yet to come (not
  /// `at_end`).
  std::optional<End> find(std::string_view text, std::size_t looked_at, bool at_end) const;
  /// Bytes at the end of a text without an end that must be looked at again with what follows.
  std::size_t kept_bytes() const;

 private:
  std::optional<End> find_mark(std::string_view text, std::size_t from, bool at_end) const;
  std::optional<End> find_blank_line(std::string_view text, std::size_t from, bool at_end) const;

  Boundary boundary_;
  std::string separator_;
};

/// Walks the documents of a text that is in memory: they end at a line holding only
/// "<|endoftext|>" (a carriage return may follow). Neither that line nor the line break before it
/// belongs to a document; empty documents are passed over.
class DocumentWalker {
 public:
  explicit DocumentWalker(std::string_view text) : text_(text) {}

  /// False when there is no further document.
  bool next(std::string_view& document);

 private:
  std::string_view text_;
};

}  // namespace athanor
