// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "engine/base/utf8.h"
#include "engine/data/corpus.h"
#include "engine/data/corpus_meter.h"
#include "engine/data/tokenizer.h"

namespace athanor {

namespace {

constexpr std::size_t kBlock_bytes = 64 << 10;

/// Keeps every n-th block of a text that is given piece by piece, and doubles n whenever that is
/// too much.
class ThinnedText {
 public:
  explicit ThinnedText(std::size_t most_bytes)
      : most_blocks_(std::max<std::size_t>(2, most_bytes / kBlock_bytes)) {}

  void add(std::string_view text) {
    while (!text.empty()) {
      const std::size_t room = kBlock_bytes - std::max(block_.size(), passed_over_bytes_);
      // A block ends between characters, if a few bytes later.
      const std::size_t bytes = next_character_start(text, std::min(room, text.size()));
      if (keeps()) {
        block_ += text.substr(0, bytes);
      } else {
        passed_over_bytes_ += bytes;
      }
      text.remove_prefix(bytes);
      if (block_.size() >= kBlock_bytes || passed_over_bytes_ >= kBlock_bytes) end_block();
    }
  }

  /// The blocks that were kept, with `between` where others were between them.
  std::string text(std::string_view between) {
    end_block();
    std::string all;
    for (const std::string& block : blocks_) {
      if (stride_ > 1 && !all.empty()) all += between;
      all += block;
    }
    return all;
  }

 private:
  bool keeps() const { return count_ % stride_ == 0; }

  void end_block() {
    if (keeps() && !block_.empty()) blocks_.push_back(std::exchange(block_, {}));
    block_.clear();
    passed_over_bytes_ = 0;
    ++count_;
    if (blocks_.size() <= most_blocks_) return;
    for (std::size_t at = 1; at < blocks_.size(); ++at)
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
    stride_ *= 2;
  }

  std::size_t most_blocks_;
  std::size_t stride_ = 1;
  std::size_t count_ = 0;  ///< blocks so far
  std::size_t passed_over_bytes_ = 0;
  std::string block_;
  std::deque<std::string> blocks_;
};

}  // namespace

std::string sample_text(const Corpus& corpus, std::int64_t sample_bytes, const CancelToken& cancel,
                        const CorpusCallback& progress) {
  const std::string mark = fmt::format("\n{}\n", Tokenizer::kEndOfText);
  CorpusMeter meter("Reading the text", corpus.disk_bytes(), cancel, progress);
  ReadingLog log(corpus.options().read, &cancel);
  CorpusReader reader(corpus, log);
  ThinnedText sample(static_cast<std::size_t>(sample_bytes));
  CorpusCounts counts;
  for (DocumentPart part; reader.next(part);) {
    counts.documents += part.ends ? 1 : 0;
    counts.text_bytes += static_cast<std::int64_t>(part.text.size());
    counts.bad_records = log.bad_records();
    counts.invalid_bytes = log.invalid_bytes();
    sample.add(part.text);
    if (part.ends) sample.add(mark);
    meter.update(reader.disk_bytes(), counts);
  }
  meter.finish();
  return sample.text(mark);
}

}  // namespace athanor
