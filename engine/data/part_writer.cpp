// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/part_writer.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

namespace athanor {

namespace {

/// Long documents are encoded in stretches, where the tokenizer can be cut.
constexpr std::size_t kStretch_bytes = 1 << 20;
/// A document is cut somewhere, if it has no place to be cut within so much.
constexpr std::size_t kLongestStretch_bytes = 64 << 20;

}  // namespace

PartWriter::PartWriter(const Tokenizer& tokenizer, const std::filesystem::path& folder,
                       ThreadPool& pool)
    : tokenizer_(tokenizer),
      pool_(pool),
      train_(folder / "train.tokens", tokenizer.vocabulary_size(), tokenizer.fingerprint()),
      validation_(folder / "validation.tokens", tokenizer.vocabulary_size(),
                  tokenizer.fingerprint()) {
  for (int worker = 0; worker < pool.threads(); ++worker)
    encoders_.push_back(std::make_unique<TokenEncoder>(tokenizer));
}

void PartWriter::add(Part part, std::string text, bool ends, std::int64_t times) {
  if (!unfinished_.empty()) text.insert(0, std::exchange(unfinished_, {}));
  std::size_t from = 0;
  while (text.size() - from > 2 * kStretch_bytes) {
    const std::size_t end = tokenizer_.cut_after(text, from + kStretch_bytes);
    if (end == text.size()) break;
    pending_.push_back({part, text.substr(from, end - from), has_begun_, false, times});
    has_begun_ = true;
    from = end;
  }
  text.erase(0, from);
  if (!ends && text.size() < kLongestStretch_bytes) {
    unfinished_ = std::move(text);
    return;
  }
  pending_.push_back({part, std::move(text), has_begun_, ends, times});
  has_begun_ = !ends;
}

void PartWriter::flush() {
  if (ids_.size() < pending_.size()) ids_.resize(pending_.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  pool_.parallel_for(pool_.threads(), [&](std::int64_t worker) {
    try {
      for (std::size_t at = next++; at < pending_.size(); at = next++)
        encode(at, *encoders_[static_cast<std::size_t>(worker)]);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
  for (std::size_t at = 0; at < pending_.size(); ++at)
    write(pending_[at], ids_[at]);
  pending_.clear();
}

void PartWriter::encode(std::size_t at, TokenEncoder& encoder) {
  std::vector<std::int32_t>& ids = ids_[at];
  ids.clear();
  encoder.encode(pending_[at].text, ids, {.continues = pending_[at].continues});
  if (pending_[at].ends) ids.push_back(tokenizer_.end_of_text());
}

void PartWriter::write(const Stretch& stretch, const std::vector<std::int32_t>& ids) {
  TokenShardWriter& writer = stretch.part == Part::train ? train_ : validation_;
  if (!stretch.ends) return writer.add_part(ids);
  writer.add_document(ids);
  if (stretch.part != Part::train) return;
  if (stretch.times > 1) {
    copies_.push_back({document_, train_.tokens() - document_, stretch.times - 1});
  }
  document_ = train_.tokens();
}

void PartWriter::write_copies() {
  while (!copies_.empty()) {
    for (Copied& copied : copies_) {
      train_.repeat(copied.first, copied.tokens);
      --copied.times;
    }
    std::erase_if(copies_, [](const Copied& copied) { return copied.times == 0; });
  }
}

void PartWriter::finish(TokenShard::Info& train, TokenShard::Info& validation) {
  flush();
  write_copies();
  train = train_.finish();
  validation = validation_.finish();
}

}  // namespace athanor
