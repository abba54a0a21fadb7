// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/thread_pool.h"
#include "engine/base/utf8.h"
#include "engine/data/corpus_batches.h"
#include "engine/data/corpus_meter.h"
#include "engine/data/duplicate_filter.h"
#include "engine/data/part_writer.h"

namespace athanor {

namespace {

constexpr std::size_t kBatchOfThread_bytes = 2 << 20;
constexpr double kAllHashes = 18446744073709551616.0;  // 2^64

[[noreturn]] void refuse_short(const Corpus& corpus) {
  throw Error(
      ErrorKind::invalid_argument,
      corpus.name() +
          " is too short to train on: both the training part and the held-out part need some "
          "text. Choose a longer text.");
}

[[noreturn]] void refuse_empty(const Corpus& corpus, const ReadingLog& log) {
  std::string bad;
  if (log.bad_records() > 0) {
    const BadRecord& first = log.kept().front();
    bad = " Of its records " + std::to_string(log.bad_records()) + " are bad, the first in line " +
          std::to_string(first.line) + ": " + first.cause + ".";
  }
  throw Error(ErrorKind::invalid_argument,
              corpus.name() + " holds no text." + bad + " Choose a file that holds text.");
}

/// Where in one document, or a part of it, the held-out part begins: after the line break nearest
/// to `wanted`, else at a character near it.
std::size_t cut_in_document(std::string_view document, std::size_t wanted) {
  const std::size_t before = document.rfind('\n', wanted > 0 ? wanted - 1 : 0);
  const std::size_t after = document.find('\n', wanted);
  const bool has_before = before != std::string_view::npos && before > 0;
  const bool has_after = after != std::string_view::npos && after + 1 < document.size();
  if (has_before && (!has_after || wanted - before <= after - wanted)) return before + 1;
  if (has_after) return after + 1;
  return next_character_start(document, std::max<std::size_t>(wanted, 1));
}

/// Which documents are held out.
struct SplitRule {
  std::uint64_t limit;                  ///< those whose hash is below
  std::optional<std::size_t> cut_byte;  ///< of the only document there is
};

/// What a pass over the corpus found that another one must know.
struct Found {
  std::uint64_t least_hash = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t greatest_hash = 0;
};

/// One pass over a corpus, from its files to its shards.
class Pass {
 public:
  Pass(const Corpus& corpus, const Tokenizer& tokenizer, SplitRule rule,
       const std::filesystem::path& folder, ThreadPool& pool, const CancelToken& cancel,
       CorpusMeter& meter)
      : corpus_(corpus),
        rule_(rule),
        pool_(pool),
        meter_(meter),
        batches_(corpus, kBatchOfThread_bytes * static_cast<std::size_t>(pool.threads()), cancel),
        filter_(corpus.options()),
        writer_(tokenizer, folder, pool) {}

  TokenizedCorpus run() {
    for (CorpusBatch batch = batches_.next(); !batch.items.empty(); batch = batches_.next()) {
      hash(batch);
      for (std::size_t at = 0; at < batch.items.size(); ++at)
        place(batch.items[at], at);
      writer_.flush();
      result_.counts.tokens = writer_.tokens();
      result_.counts.bad_records = batch.bad_records;
      result_.counts.invalid_bytes = batch.invalid_bytes;
      meter_.update(batch.disk_bytes, result_.counts);
    }
    // Without a document in both parts there is another pass, or no use for the files.
    if (has_train() && has_validation()) writer_.finish(result_.train, result_.validation);
    result_.log = batches_.log();
    result_.counts.bad_records = result_.log.bad_records();
    result_.counts.invalid_bytes = result_.log.invalid_bytes();
    result_.counts.tokens = result_.train.tokens + result_.validation.tokens;
    return result_;
  }

  const Found& found() const { return found_; }
  bool has_train() const { return ended_[0]; }
  bool has_validation() const { return ended_[1]; }

 private:
  using Part = PartWriter::Part;

  void hash(const CorpusBatch& batch) {
    hashes_.resize(batch.items.size());
    if (filter_.wants_sketches()) sketches_.resize(batch.items.size());
    pool_.parallel_for(static_cast<std::int64_t>(batch.items.size()), [&](std::int64_t item) {
      const auto at = static_cast<std::size_t>(item);
      const DocumentPart& part = batch.items[at].part;
      hashes_[at] = document_hash(part.text);
      if (filter_.wants_sketches() && part.begins && part.ends)
        sketches_[at] = sketch_of(part.text);
    });
  }

  /// Decides what becomes of a document, by its first part, and adds it.
  void place(CorpusBatch::Item& item, std::size_t at) {
    if (item.part.begins) decide(item, at);
    if (times_ == 0) return;
    const auto bytes = static_cast<std::int64_t>(item.part.text.size());
    result_.counts.text_bytes += bytes;
    result_.counts.documents += item.part.ends ? 1 : 0;
    if (rule_.cut_byte && part_ == Part::train && cut(item.part, *rule_.cut_byte)) return;
    if (part_ == Part::validation) result_.validation_bytes += bytes;
    document_bytes_ += item.part.text.size();
    ended_[static_cast<std::size_t>(part_)] |= item.part.ends;
    writer_.add(part_, std::move(item.part.text), item.part.ends, times_);
  }

  void decide(const CorpusBatch::Item& item, std::size_t at) {
    const std::uint64_t hash = hashes_[at];
    document_bytes_ = 0;
    times_ = 1;
    // One that is too long to be in memory is never taken for another.
    if (item.part.ends &&
        filter_.is_duplicate(hash, sketches_.empty() ? kNoSketch : sketches_[at])) {
      ++result_.counts.duplicates;
      times_ = 0;
      return;
    }
    times_ = times_of(hash, corpus_.parts()[item.source].source.weight);
    if (times_ == 0) return;
    found_.least_hash = std::min(found_.least_hash, hash);
    found_.greatest_hash = std::max(found_.greatest_hash, hash);
    part_ = hash < rule_.limit ? Part::validation : Part::train;
  }

  /// How often a document is there, by its hash; whether it is held out does not depend on that.
  static std::int64_t times_of(std::uint64_t hash, double weight) {
    const double whole = std::floor(weight);
    const std::uint64_t other = document_hash({reinterpret_cast<const char*>(&hash), sizeof hash});
    const bool more = static_cast<double>(other) < (weight - whole) * kAllHashes;
    return static_cast<std::int64_t>(whole) + (more ? 1 : 0);
  }

  /// Cuts the only document when this part of it holds the place, or is the last.
  bool cut(DocumentPart& part, std::size_t cut_byte) {
    const std::size_t end = document_bytes_ + part.text.size();
    if (end <= cut_byte && !part.ends) return false;
    const std::size_t wanted = cut_byte - std::min(cut_byte, document_bytes_);
    const std::size_t place = cut_in_document(part.text, std::min(wanted, part.text.size()));
    if (place == 0 || place >= part.text.size()) refuse_short(corpus_);
    writer_.add(Part::train, part.text.substr(0, place), true, times_);
    part.text.erase(0, place);
    result_.validation_bytes += static_cast<std::int64_t>(part.text.size());
    writer_.add(Part::validation, std::move(part.text), part.ends);
    part_ = Part::validation;
    ended_ = {true, part.ends};
    return true;
  }

  static constexpr TextSketch kNoSketch{};

  const Corpus& corpus_;
  SplitRule rule_;
  ThreadPool& pool_;
  CorpusMeter& meter_;
  CorpusBatches batches_;
  DuplicateFilter filter_;
  PartWriter writer_;
  std::vector<std::uint64_t> hashes_;  ///< of a batch's documents
  std::vector<TextSketch> sketches_;
  // Of the document whose parts come in.
  Part part_ = Part::train;
  std::int64_t times_ = 1;
  std::size_t document_bytes_ = 0;

  std::array<bool, 2> ended_{};  ///< a document of this part
  Found found_;
  TokenizedCorpus result_;
};

/// The bytes of the only document of a corpus; nothing when there are several. Reads no further
/// than to the second one.
std::optional<std::int64_t> bytes_of_only_document(const Corpus& corpus,
                                                   const CancelToken& cancel) {
  ReadingLog log(corpus.options().read, &cancel);
  CorpusReader reader(corpus, log);
  std::int64_t bytes = 0;
  for (DocumentPart part; reader.next(part);) {
    if (part.begins && bytes > 0) return {};
    bytes += static_cast<std::int64_t>(part.text.size());
  }
  if (bytes == 0) refuse_empty(corpus, log);
  return bytes;
}

SplitRule cut_rule(std::int64_t text_bytes, double validation_fraction) {
  const double kept = static_cast<double>(text_bytes) * (1.0 - validation_fraction);
  return {.limit = 0, .cut_byte = static_cast<std::size_t>(std::llround(kept))};
}

}  // namespace

TokenizedCorpus tokenize_corpus(const Corpus& corpus, const Tokenizer& tokenizer,
                                double validation_fraction, const std::filesystem::path& folder,
                                const CancelToken& cancel, const CorpusCallback& progress) {
  if (!(validation_fraction > 0.0 && validation_fraction < 1.0)) {
    throw Error(ErrorKind::invalid_argument,
                "The held-out part of the text must be a fraction between 0 and 1, such as 0.05.");
  }
  CorpusMeter meter("Tokenizing the text", corpus.disk_bytes(), cancel, progress);
  SplitRule rule{.limit = static_cast<std::uint64_t>(validation_fraction * kAllHashes)};
  if (const auto only = bytes_of_only_document(corpus, cancel)) {
    rule = cut_rule(*only, validation_fraction);
  }
  create_folders(folder);
  ThreadPool pool;
  for (int passes = 1;; ++passes) {
    Pass pass(corpus, tokenizer, rule, folder, pool, cancel, meter);
    TokenizedCorpus result = pass.run();
    corpus.check_unchanged();
    if (result.counts.documents == 0) refuse_empty(corpus, result.log);
    if (pass.has_train() && pass.has_validation()) {
      meter.finish();
      return result;
    }
    // So few documents that their hashes all fell on one side.
    if (rule.cut_byte || passes > 1) refuse_short(corpus);
    if (result.counts.documents == 1) {
      rule = cut_rule(result.counts.text_bytes, validation_fraction);
    } else if (!pass.has_validation()) {
      rule.limit = pass.found().least_hash + 1;
    } else {
      rule.limit = pass.found().greatest_hash;
    }
  }
}

}  // namespace athanor
