// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/piece_table.h"
#include "engine/data/tokenizer_description.h"

namespace athanor {

/// Finds added tokens in a text: at each place the longest, from left to right. Immutable and
/// thread-safe.
class AddedTokenFinder {
 public:
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);

  struct Found {
    std::size_t begin = std::string_view::npos;  ///< the text's size when there is none
    std::size_t end = 0;
    std::int32_t id = -1;
  };
  /// The first at or after `from`, with the white space that it takes, but none before `from`.
  /// Special tokens are text unless `with_special`.
  Found find(std::string_view text, std::size_t from, bool with_special) const;

 private:
  /// The longest token that begins at `at`, or null.
  const AddedToken* longest_at(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;
  bool only_special_ = true;
  PieceTable places_;
  std::array<bool, 256> begins_{};
  std::array<std::vector<std::size_t>, 256> lengths_;  ///< by first byte, falling
};

}  // namespace athanor
