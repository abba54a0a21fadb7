// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string_view>

namespace athanor {

/// Walks the documents of a text: they end at a line holding only "<|endoftext|>" (a carriage
/// return may follow). Neither that line nor the line break before it belongs to a document; empty
/// documents are passed over.
class DocumentWalker {
 public:
  explicit DocumentWalker(std::string_view text) : text_(text) {}

  /// False when there is no further document.
  bool next(std::string_view& document);

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace athanor
