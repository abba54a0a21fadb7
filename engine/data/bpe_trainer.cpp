// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "engine/base/error.h"
#include "engine/base/thread_pool.h"
#include "engine/base/utf8.h"
#include "engine/data/documents.h"
#include "engine/data/merge_learner.h"
#include "engine/data/piece_counter.h"
#include "engine/data/progress_meter.h"
#include "engine/data/text_splitter.h"
#include "engine/data/tokenizer.h"

namespace athanor {

namespace {

constexpr std::int32_t kByteTokens = 256;
/// Blocks of a sampled text: long enough that their cut ends do not matter, many enough to see all
/// of it.
constexpr std::int64_t kSampleBlock_bytes = 64 << 10;
/// What one thread counts at a time.
constexpr std::size_t kStretch_bytes = 1 << 20;
/// Pieces over this, such as a line of dashes without end, are no words to learn from.
constexpr std::size_t kLongestPiece_bytes = 512;

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

/// The documents of the blocks in parts that can be counted by themselves.
std::vector<std::string_view> stretches_of(const std::vector<std::string_view>& blocks,
                                           const Tokenizer& cutter) {
  std::vector<std::string_view> stretches;
  for (const std::string_view block : blocks) {
    DocumentWalker documents(block);
    for (std::string_view document; documents.next(document);) {
      while (!document.empty()) {
        const std::size_t end = document.size() > 2 * kStretch_bytes
                                    ? cutter.cut_after(document, kStretch_bytes)
                                    : document.size();
        stretches.push_back(document.substr(0, end));
        document.remove_prefix(end);
      }
    }
  }
  return stretches;
}

void count_stretch(std::string_view text, const TextSplitter& splitter,
                   std::vector<std::string_view>& pieces, PieceCounter& counter) {
  const char* const end = text.data() + text.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid = utf8_prefix_bytes(text.substr(at));
    pieces.clear();
    splitter.split(text.substr(at, valid), pieces);
    for (const std::string_view piece : pieces) {
      if (piece.size() <= kLongestPiece_bytes) counter.add(piece, end);
    }
    // What is not UTF-8 is encoded byte by byte.
    at += valid + 1;
  }
}

/// Every piece of the text once, with how often it occurs.
std::vector<CountedPiece> count_pieces(const std::vector<std::string_view>& stretches, int threads,
                                       const CancelToken& cancel,
                                       const ProgressCallback& progress) {
  std::int64_t total_bytes = 0;
  for (const std::string_view stretch : stretches)
    total_bytes += static_cast<std::int64_t>(stretch.size());
  ProgressMeter meter("Counting words", total_bytes, cancel, progress);
  const std::unique_ptr<TextSplitter> splitter = make_scanner(KnownPattern::gpt2);
  ThreadPool pool(threads);
  std::vector<PieceCounter> counters(static_cast<std::size_t>(pool.threads()));
  std::vector<std::vector<std::string_view>> pieces(counters.size());
  std::int64_t done_bytes = 0;
  // Rounds of about one stretch's bytes each times some, so that stopping is prompt.
  for (std::size_t first = 0; first < stretches.size();) {
    std::size_t last = first;
    for (std::size_t bytes = 0; last < stretches.size() && bytes < 16 * kStretch_bytes; ++last)
      bytes += stretches[last].size();
    std::atomic<std::size_t> next{first};
    pool.parallel_for(pool.threads(), [&](std::int64_t worker) {
      const auto own = static_cast<std::size_t>(worker);
      for (std::size_t at = next++; at < last && !cancel.requested(); at = next++)
        count_stretch(stretches[at], *splitter, pieces[own], counters[own]);
    });
    for (; first < last; ++first)
      done_bytes += static_cast<std::int64_t>(stretches[first].size());
    meter.update(done_bytes);
  }
  for (std::size_t other = 1; other < counters.size(); ++other) {
    for (const CountedPiece& each : counters[other].pieces())
      counters.front().add(each.piece, each.piece.data() + each.piece.size(), each.count);
  }
  meter.finish();
  return counters.front().pieces();
}

}  // namespace

Tokenizer train_tokenizer(std::string_view text, std::int32_t vocabulary_size,
                          const CancelToken& cancel, const ProgressCallback& progress,
                          std::int64_t sample_bytes, int threads) {
  if (vocabulary_size <= kByteTokens) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("A vocabulary of {} is too small: the 256 bytes and the end of a text "
                            "need 257. Choose 257 or more.",
                            vocabulary_size));
  }
  const std::vector<std::string_view> stretches =
      stretches_of(sample_blocks(text, sample_bytes), Tokenizer({}));
  MergeLearner learner(count_pieces(stretches, threads, cancel, progress));
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
