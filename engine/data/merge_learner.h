// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "engine/data/piece_counter.h"
#include "engine/data/tokenizer.h"

namespace athanor {

/// Learns merges one by one, keeping the count of every pair up to date instead of counting anew.
/// What it learns depends on which pieces occur how often alone, not on their order.
class MergeLearner {
 public:
  explicit MergeLearner(const std::vector<CountedPiece>& pieces);

  /// Merges the most frequent pair into `token`, which is higher than all before; false when no
  /// pair occurs twice.
  bool learn(std::int32_t token, std::vector<Tokenizer::Merge>& merges);

 private:
  struct Piece {
    std::size_t begin;  ///< in tokens_
    std::uint32_t tokens;
    std::int64_t count;
  };
  struct Pair {
    std::int64_t count = 0;
    std::vector<std::uint32_t> places;  ///< pieces it was seen in, ascending; may be outdated
  };
  /// A pair as it was when it came up: its count only falls from then on.
  struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.count != b.count ? a.count < b.count : a.pair > b.pair;
    }
  };

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  void add(std::int32_t left, std::int32_t right, std::uint32_t piece);
  void remove(std::int32_t left, std::int32_t right, std::uint32_t piece);
  void merge_in(std::uint32_t index, Tokenizer::Merge merge, std::int32_t token);
  void queue_fresh();

  std::vector<std::int32_t> tokens_;
  std::vector<Piece> pieces_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::uint64_t> fresh_;  ///< pairs not in the queue yet
  std::priority_queue<Candidate> queue_;
};

}  // namespace athanor
