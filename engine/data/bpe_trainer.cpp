// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <string>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/data/documents.h"
#include "engine/data/progress_meter.h"
#include "engine/data/tokenizer.h"

namespace athanor {

namespace {

constexpr std::int32_t kByteTokens = 256;
/// Blocks of a sampled text: long enough that their cut ends do not matter, many enough to see all
/// of it.
constexpr std::int64_t kSampleBlock_bytes = 64 << 10;

struct CountedPiece {
  std::vector<std::int32_t> tokens;
  std::int64_t count;
};

/// The blocks of a text that training reads: all of it, or evenly spaced ones.
std::vector<std::string_view> sample_blocks(std::string_view text, std::int64_t sample_bytes) {
  const auto total = static_cast<std::int64_t>(text.size());
  if (total <= sample_bytes) return {text};
  const std::int64_t blocks = std::max<std::int64_t>(1, sample_bytes / kSampleBlock_bytes);
  const std::int64_t block_bytes = std::min(sample_bytes, kSampleBlock_bytes);
  const double stride = static_cast<double>(total) / static_cast<double>(blocks);
  std::vector<std::string_view> sample;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const auto start = static_cast<std::size_t>(stride * static_cast<double>(block));
    const std::size_t begin = next_character_start(text, start);
    const std::size_t end =
        next_character_start(text, start + static_cast<std::size_t>(block_bytes));
    sample.push_back(text.substr(begin, end - begin));
  }
  return sample;
}

/// Every piece of the text once, with how often it occurs, in the order of first occurrence.
std::vector<CountedPiece> count_pieces(const std::vector<std::string_view>& blocks,
                                       const CancelToken& cancel,
                                       const ProgressCallback& progress) {
  std::int64_t total_bytes = 0;
  for (const std::string_view block : blocks)
    total_bytes += static_cast<std::int64_t>(block.size());
  ProgressMeter meter("Counting words", total_bytes, cancel, progress);
  const Pretokenizer pretokenizer;
  std::unordered_map<std::string_view, std::size_t> places;
  std::vector<CountedPiece> pieces;
  std::int64_t done_bytes = 0;
  for (const std::string_view block : blocks) {
    DocumentWalker documents(block);
    for (std::string_view document; documents.next(document);) {
      for (std::size_t offset = 0; offset < document.size();) {
        const std::size_t length = pretokenizer.piece_bytes(document, offset);
        const std::string_view piece = document.substr(offset, length);
        const auto [found, fresh] = places.try_emplace(piece, pieces.size());
        if (fresh) {
          const auto* const bytes = reinterpret_cast<const unsigned char*>(piece.data());
          pieces.push_back({{bytes, bytes + piece.size()}, 0});
          meter.update(done_bytes + (document.data() - block.data()));
        }
        ++pieces[found->second].count;
        offset += length;
      }
      meter.update(done_bytes + (document.data() - block.data()));
    }
    done_bytes += static_cast<std::int64_t>(block.size());
  }
  meter.finish();
  return pieces;
}

/// Learns merges one by one, keeping the count of every pair up to date instead of counting anew.
class MergeLearner {
 public:
  explicit MergeLearner(std::vector<CountedPiece> pieces) : pieces_(std::move(pieces)) {
    for (std::size_t index = 0; index < pieces_.size(); ++index) {
      const CountedPiece& piece = pieces_[index];
      for (std::size_t at = 0; at + 1 < piece.tokens.size(); ++at) {
        change(piece.tokens[at], piece.tokens[at + 1], piece.count, index);
      }
    }
    queue_changed();
  }

  /// Merges the most frequent pair into `token`; false when no pair occurs twice.
  bool learn(std::int32_t token, std::vector<Tokenizer::Merge>& merges) {
    while (!queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(best.pair);
      // A count that has changed since was queued again with its new value.
      if (found == pairs_.end() || found->second.count != best.count) continue;
      if (best.count < 2) return false;
      const Tokenizer::Merge merge{static_cast<std::int32_t>(best.pair >> 32),
                                   static_cast<std::int32_t>(best.pair & 0xFFFFFFFF)};
      merges.push_back(merge);
      const std::vector<std::size_t> places = std::move(found->second.places);
      pairs_.erase(found);
      for (const std::size_t index : places)
        merge_in(index, merge, token);
      queue_changed();
      return true;
    }
    return false;
  }

 private:
  struct Pair {
    std::int64_t count = 0;
    std::vector<std::size_t> places;  ///< pieces it was seen in, ascending runs; may be outdated
  };
  struct Candidate {
    std::int64_t count;
    std::uint64_t pair;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.count != b.count ? a.count < b.count : a.pair > b.pair;
    }
  };

  void change(std::int32_t left, std::int32_t right, std::int64_t by, std::size_t piece) {
    const std::uint64_t key =
        static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
    Pair& pair = pairs_[key];
    pair.count += by;
    if (by > 0 && (pair.places.empty() || pair.places.back() != piece))
      pair.places.push_back(piece);
    changed_.push_back(key);
  }

  void queue_changed() {
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const std::uint64_t key : changed_) {
      const auto found = pairs_.find(key);
      if (found == pairs_.end()) continue;
      if (found->second.count > 0) {
        queue_.push({found->second.count, key});
      } else {
        pairs_.erase(found);
      }
    }
    changed_.clear();
  }

  void merge_in(std::size_t index, Tokenizer::Merge merge, std::int32_t token) {
    CountedPiece& piece = pieces_[index];
    std::vector<std::int32_t>& tokens = piece.tokens;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < tokens.size(); ++at) {
      const bool matches =
          at + 1 < tokens.size() && tokens[at] == merge.left && tokens[at + 1] == merge.right;
      if (!matches) {
        tokens[kept++] = tokens[at];
        continue;
      }
      if (kept > 0) {
        change(tokens[kept - 1], merge.left, -piece.count, index);
        change(tokens[kept - 1], token, piece.count, index);
      }
      if (at + 2 < tokens.size()) {
        change(merge.right, tokens[at + 2], -piece.count, index);
        change(token, tokens[at + 2], piece.count, index);
      }
      tokens[kept++] = token;
      ++at;
    }
    tokens.resize(kept);
  }

  std::vector<CountedPiece> pieces_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint64_t> changed_;
};

}  // namespace

Tokenizer train_tokenizer(std::string_view text, std::int32_t vocabulary_size,
                          const CancelToken& cancel, const ProgressCallback& progress,
                          std::int64_t sample_bytes) {
  if (vocabulary_size <= kByteTokens) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("A vocabulary of {} is too small: the 256 bytes and the end of a text "
                            "need 257. Choose 257 or more.",
                            vocabulary_size));
  }
  MergeLearner learner(count_pieces(sample_blocks(text, sample_bytes), cancel, progress));
  const std::int32_t wanted = vocabulary_size - kByteTokens - 1;
  ProgressMeter meter("Learning tokens", wanted, cancel, progress);
  std::vector<Tokenizer::Merge> merges;
  for (std::int32_t index = 0; index < wanted; ++index) {
    if (!learner.learn(kByteTokens + index, merges)) break;
    meter.update(index + 1);
  }
  meter.finish();
  return Tokenizer(std::move(merges));
}

}  // namespace athanor
