// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/merge_learner.h"

namespace athanor {

MergeLearner::MergeLearner(const std::vector<CountedPiece>& pieces) {
  pieces_.reserve(pieces.size());
  for (const CountedPiece& each : pieces) {
    if (each.piece.size() < 2) continue;
    pieces_.push_back({tokens_.size(), static_cast<std::uint32_t>(each.piece.size()), each.count});
    for (const char byte : each.piece)
      tokens_.push_back(static_cast<unsigned char>(byte));
  }
  for (std::uint32_t index = 0; index < pieces_.size(); ++index) {
    const Piece& piece = pieces_[index];
    for (std::size_t at = piece.begin; at + 1 < piece.begin + piece.tokens; ++at)
      add(tokens_[at], tokens_[at + 1], index);
  }
  queue_fresh();
}

void MergeLearner::add(std::int32_t left, std::int32_t right, std::uint32_t piece) {
  const std::uint64_t pair_key = key(left, right);
  Pair& pair = pairs_[pair_key];
  if (pair.places.empty()) fresh_.push_back(pair_key);
  pair.count += pieces_[piece].count;
  if (pair.places.empty() || pair.places.back() != piece) pair.places.push_back(piece);
}

void MergeLearner::remove(std::int32_t left, std::int32_t right, std::uint32_t piece) {
  const auto found = pairs_.find(key(left, right));
  if (found != pairs_.end()) found->second.count -= pieces_[piece].count;
}

void MergeLearner::queue_fresh() {
  for (const std::uint64_t pair_key : fresh_)
    queue_.push({pairs_[pair_key].count, pair_key});
  fresh_.clear();
}

bool MergeLearner::learn(std::int32_t token, std::vector<Tokenizer::Merge>& merges) {
  while (!queue_.empty()) {
    const Candidate best = queue_.top();
    queue_.pop();
    const auto found = pairs_.find(best.pair);
    if (found->second.count != best.count) {
      if (found->second.count > 0) {
        queue_.push({found->second.count, best.pair});
      } else {
        pairs_.erase(found);
      }
      continue;
    }
    if (best.count < 2) return false;
    const Tokenizer::Merge merge{static_cast<std::int32_t>(best.pair >> 32),
                                 static_cast<std::int32_t>(best.pair & 0xFFFFFFFF)};
    merges.push_back(merge);
    const std::vector<std::uint32_t> places = std::move(found->second.places);
    pairs_.erase(found);
    for (const std::uint32_t index : places)
      merge_in(index, merge, token);
    queue_fresh();
    return true;
  }
  return false;
}

void MergeLearner::merge_in(std::uint32_t index, Tokenizer::Merge merge, std::int32_t token) {
  Piece& piece = pieces_[index];
  std::int32_t* const tokens = tokens_.data() + piece.begin;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < piece.tokens; ++at) {
    const bool matches =
        at + 1 < piece.tokens && tokens[at] == merge.left && tokens[at + 1] == merge.right;
    if (!matches) {
      tokens[kept++] = tokens[at];
      continue;
    }
    if (kept > 0) {
      remove(tokens[kept - 1], merge.left, index);
      add(tokens[kept - 1], token, index);
    }
    if (at + 2 < piece.tokens) {
      remove(merge.right, tokens[at + 2], index);
      add(token, tokens[at + 2], index);
    }
    tokens[kept++] = token;
    ++at;
  }
  piece.tokens = static_cast<std::uint32_t>(kept);
}

}  // namespace athanor
