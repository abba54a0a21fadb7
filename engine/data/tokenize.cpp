// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/thread_pool.h"
#include "engine/base/utf8.h"
#include "engine/data/documents.h"
#include "engine/data/progress_meter.h"
#include "engine/data/token_encoder.h"

namespace athanor {

namespace {

using Documents = std::vector<std::string_view>;

/// Long documents are encoded in stretches, where the tokenizer can be cut.
constexpr std::size_t kStretch_bytes = 1 << 20;

[[noreturn]] void refuse_short(const TextFile& text) {
  throw Error(
      ErrorKind::invalid_argument,
      text.path().string() +
          " is too short to train on: both the training part and the held-out part need some "
          "text. Choose a longer text.");
}

/// Where in one long document the held-out part begins: after the line break nearest to `wanted`,
/// else at a character near it.
std::size_t cut_in_document(std::string_view document, std::size_t wanted) {
  const std::size_t before = document.rfind('\n', wanted > 0 ? wanted - 1 : 0);
  const std::size_t after = document.find('\n', wanted);
  const bool has_before = before != std::string_view::npos && before > 0;
  const bool has_after = after != std::string_view::npos && after + 1 < document.size();
  if (has_before && (!has_after || wanted - before <= after - wanted)) return before + 1;
  if (has_after) return after + 1;
  return next_character_start(document, std::max<std::size_t>(wanted, 1));
}

struct Parts {
  Documents train;
  Documents validation;
};

Parts split(Documents documents, double validation_fraction, const TextFile& text) {
  const std::string_view whole = text.text();
  const auto wanted = static_cast<std::size_t>(
      std::llround(static_cast<double>(whole.size()) * (1.0 - validation_fraction)));
  if (documents.empty()) refuse_short(text);
  if (documents.size() == 1) {
    const std::string_view document = documents.front();
    const auto skipped = static_cast<std::size_t>(document.data() - whole.data());
    const std::size_t inside = wanted > skipped ? std::min(wanted - skipped, document.size()) : 0;
    const std::size_t cut = cut_in_document(document, inside);
    if (cut == 0 || cut >= document.size()) refuse_short(text);
    return {{document.substr(0, cut)}, {document.substr(cut)}};
  }
  const char* const place = whole.data() + wanted;
  const auto first_after = std::partition_point(
      documents.begin(), documents.end(),
      [&](std::string_view document) { return document.data() + document.size() <= place; });
  const auto cut = std::clamp(first_after, documents.begin() + 1, documents.end() - 1);
  return {{documents.begin(), cut}, {cut, documents.end()}};
}

/// Encodes documents on all threads and writes them in their order.
class PartWriter {
 public:
  PartWriter(const Tokenizer& tokenizer, const std::filesystem::path& path, const TextFile& text,
             ThreadPool& pool, ProgressMeter& meter)
      : tokenizer_(tokenizer),
        writer_(path, tokenizer.vocabulary_size(), tokenizer.fingerprint()),
        text_(text),
        pool_(pool),
        meter_(meter) {
    for (int worker = 0; worker < pool.threads(); ++worker)
      encoders_.push_back(std::make_unique<TokenEncoder>(tokenizer));
  }

  TokenShard::Info write(const Documents& documents) {
    for (const std::string_view document : documents) {
      for (std::size_t from = 0; from < document.size();) {
        const std::size_t end = document.size() - from <= 2 * kStretch_bytes
                                    ? document.size()
                                    : tokenizer_.cut_after(document, from + kStretch_bytes);
        add({document.substr(from, end - from), from > 0, end == document.size()});
        from = end;
      }
    }
    flush();
    return writer_.finish();
  }

 private:
  struct Stretch {
    std::string_view text;
    bool continues;  ///< a document that began before
    bool ends;       ///< its document
  };

  void add(const Stretch& stretch) {
    pending_.push_back(stretch);
    pending_bytes_ += stretch.text.size();
    const std::size_t enough = 2 * kStretch_bytes * encoders_.size();
    if (pending_bytes_ >= enough || pending_.size() >= kMostPending) flush();
  }

  void flush() {
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
    for (std::size_t at = 0; at < pending_.size(); ++at) {
      if (pending_[at].ends) {
        writer_.add_document(ids_[at]);
      } else {
        writer_.add_part(ids_[at]);
      }
    }
    if (!pending_.empty()) {
      const std::string_view last = pending_.back().text;
      meter_.update(last.data() + last.size() - text_.text().data());
    }
    pending_.clear();
    pending_bytes_ = 0;
  }

  void encode(std::size_t at, TokenEncoder& encoder) {
    std::vector<std::int32_t>& ids = ids_[at];
    ids.clear();
    encoder.encode(pending_[at].text, ids, {.continues = pending_[at].continues});
    if (pending_[at].ends) ids.push_back(tokenizer_.end_of_text());
  }

  /// Of short documents, so that their ids' memory stays small too.
  static constexpr std::size_t kMostPending = 4096;

  const Tokenizer& tokenizer_;
  TokenShardWriter writer_;
  const TextFile& text_;
  ThreadPool& pool_;
  ProgressMeter& meter_;
  std::vector<std::unique_ptr<TokenEncoder>> encoders_;
  std::vector<Stretch> pending_;
  std::size_t pending_bytes_ = 0;
  std::vector<std::vector<std::int32_t>> ids_;
};

}  // namespace

TokenizedCorpus tokenize_corpus(const TextFile& text, const Tokenizer& tokenizer,
                                double validation_fraction, const std::filesystem::path& folder,
                                const CancelToken& cancel, const ProgressCallback& progress) {
  if (!(validation_fraction > 0.0 && validation_fraction < 1.0)) {
    throw Error(ErrorKind::invalid_argument,
                "The held-out part of the text must be a fraction between 0 and 1, such as 0.05.");
  }
  const auto text_bytes = static_cast<std::int64_t>(text.text().size());
  ProgressMeter meter("Tokenizing the text", text_bytes, cancel, progress);
  Documents documents;
  DocumentWalker walker(text.text());
  for (std::string_view document; walker.next(document);)
    documents.push_back(document);
  const Parts parts = split(std::move(documents), validation_fraction, text);

  create_folders(folder);
  ThreadPool pool;
  TokenizedCorpus corpus;
  corpus.text_bytes = text_bytes;
  corpus.train =
      PartWriter(tokenizer, folder / "train.tokens", text, pool, meter).write(parts.train);
  corpus.validation = PartWriter(tokenizer, folder / "validation.tokens", text, pool, meter)
                          .write(parts.validation);
  for (const std::string_view document : parts.validation) {
    corpus.validation_bytes += static_cast<std::int64_t>(document.size());
  }
  meter.finish();
  return corpus;
}

}  // namespace athanor
