// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/data/token_shard.h"

namespace athanor {

/// Examples to fine-tune on: <name>.tokens, a document for each, and <name>.marks, a shard as long
/// with a mark for each token.
class ExampleShard {
 public:
  static constexpr std::int32_t kTrained = 1;
  static constexpr std::int32_t kFirst = 2;  ///< of an example
  /// Of the shard of marks.
  static constexpr std::int32_t kVocabulary = 4;

  /// Throws damaged as TokenShard::open does, and when the two do not belong together.
  static ExampleShard open(const std::filesystem::path& folder, const std::string& name);

  const TokenShard& tokens() const { return tokens_; }
  std::int64_t examples() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  /// Tokens that are trained; none is an example's first.
  std::int64_t trained() const { return trained_; }
  std::int64_t start(std::int64_t example) const {
    return starts_[static_cast<std::size_t>(example)];
  }
  std::int64_t length(std::int64_t example) const { return start(example + 1) - start(example); }
  void read_marks(std::int64_t first, std::span<std::int32_t> out) const {
    marks_.read(first, out);
  }

 private:
  ExampleShard(TokenShard tokens, TokenShard marks);

  TokenShard tokens_;
  TokenShard marks_;
  std::vector<std::int64_t> starts_;  ///< and the end
  std::int64_t trained_ = 0;
};

}  // namespace athanor
