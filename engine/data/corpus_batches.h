// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <future>
#include <vector>

#include "engine/data/corpus.h"

namespace athanor {

/// Documents that are worked on together.
struct CorpusBatch {
  struct Item {
    DocumentPart part;
    std::size_t source = 0;  ///< of Corpus::parts()
  };
  std::vector<Item> items;  ///< none at the corpus's end
  // As they were when it was read.
  std::int64_t disk_bytes = 0;
  std::int64_t bad_records = 0;
  std::int64_t invalid_bytes = 0;
};

/// Reads a corpus in batches of about `batch_bytes`, always one ahead on a thread of its own.
class CorpusBatches {
 public:
  /// Both must outlive it.
  CorpusBatches(const Corpus& corpus, std::size_t batch_bytes, const CancelToken& cancel);
  ~CorpusBatches();
  CorpusBatches(const CorpusBatches&) = delete;
  CorpusBatches& operator=(const CorpusBatches&) = delete;

  CorpusBatch next();
  /// After the last batch.
  const ReadingLog& log() const { return log_; }

 private:
  CorpusBatch read();
  void read_ahead();

  /// Of short documents, so that their ids' memory stays small too.
  static constexpr std::size_t kMostItems = 4096;

  std::size_t batch_bytes_;
  ReadingLog log_;
  CorpusReader reader_;
  std::future<CorpusBatch> ahead_;
};

}  // namespace athanor
