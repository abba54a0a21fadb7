// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/corpus.h"

#include <fmt/format.h>

#include "engine/base/error.h"

namespace athanor {

Corpus::Corpus(const std::vector<CorpusSource>& sources, const CorpusOptions& options)
    : options_(options) {
  if (sources.empty()) {
    throw Error(ErrorKind::invalid_argument,
                "There is no text to learn from. Name a file, a folder or a pattern.");
  }
  for (const CorpusSource& source : sources) {
    parts_.push_back({source, find_source_files(source.path)});
    for (const SourceFile& file : parts_.back().files)
      disk_bytes_ += file.disk_bytes;
  }
  name_ = sources.front().path;
  if (sources.size() > 1) name_ += fmt::format(" and {} more", sources.size() - 1);
}

void Corpus::check_beginnings(const CancelToken& cancel) const {
  for (const Part& part : parts_) {
    ReadingLog log(options_.read, &cancel);
    DocumentPart document;
    DocumentReader(part.source, part.files, log).next(document);
  }
}

void Corpus::check_unchanged() const {
  for (const Part& part : parts_)
    athanor::check_unchanged(part.files);
}

bool CorpusReader::next(DocumentPart& part) {
  while (source_ < corpus_.parts().size()) {
    const Corpus::Part& from = corpus_.parts()[source_];
    if (!reader_) reader_ = std::make_unique<DocumentReader>(from.source, from.files, log_);
    if (reader_->next(part)) return true;
    done_bytes_ += reader_->disk_bytes();
    reader_.reset();
    ++source_;
  }
  return false;
}

}  // namespace athanor
