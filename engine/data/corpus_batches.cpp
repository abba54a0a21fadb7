// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/corpus_batches.h"

#include <utility>

namespace athanor {

CorpusBatches::CorpusBatches(const Corpus& corpus, std::size_t batch_bytes,
                             const CancelToken& cancel)
    : batch_bytes_(batch_bytes), log_(corpus.options().read, &cancel), reader_(corpus, log_) {
  read_ahead();
}

CorpusBatches::~CorpusBatches() {
  if (ahead_.valid()) ahead_.wait();
}

void CorpusBatches::read_ahead() {
  ahead_ = std::async(std::launch::async, [this] { return read(); });
}

CorpusBatch CorpusBatches::next() {
  CorpusBatch batch = ahead_.get();
  if (!batch.items.empty()) read_ahead();
  return batch;
}

CorpusBatch CorpusBatches::read() {
  CorpusBatch batch;
  std::size_t bytes = 0;
  for (DocumentPart part; bytes < batch_bytes_ && batch.items.size() < kMostItems;) {
    if (!reader_.next(part)) break;
    bytes += part.text.size();
    batch.items.push_back({std::move(part), reader_.source()});
  }
  batch.disk_bytes = reader_.disk_bytes();
  batch.bad_records = log_.bad_records();
  batch.invalid_bytes = log_.invalid_bytes();
  return batch;
}

}  // namespace athanor
