// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "engine/base/philox.h"
#include "engine/data/token_shard.h"

namespace athanor {

/// A shard of `tokens` random ids in the temporary folder, removed with the object: for timing,
/// where what the tokens say does not matter. Or, `learnable`: seven of eight follow from the one
/// before, so that losses fall.
class RandomTokens {
 public:
  RandomTokens(std::int64_t tokens, std::int32_t vocabulary, bool learnable = false)
      : path_(std::filesystem::temp_directory_path() /
              ("athanor-bench-" + std::to_string(::getpid()) + ".tokens")) {
    const Philox random(1, 0);
    const Philox successors(2, 0);
    const auto choose = [&](std::uint32_t word) {
      return static_cast<std::int32_t>(word % static_cast<std::uint32_t>(vocabulary));
    };
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::uint32_t word = random.word(static_cast<std::uint64_t>(i));
      const bool follows = learnable && i > 0 && (word >> 29) != 0;
      ids.push_back(
          choose(follows ? successors.word(static_cast<std::uint64_t>(ids.back())) : word));
    }
    TokenShardWriter writer(path_, vocabulary, 0);
    writer.add_document(ids);
    writer.finish();
  }
  ~RandomTokens() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  RandomTokens(const RandomTokens&) = delete;
  RandomTokens& operator=(const RandomTokens&) = delete;

  TokenShard open() const { return TokenShard::open(path_); }

 private:
  std::filesystem::path path_;
};

}  // namespace athanor
