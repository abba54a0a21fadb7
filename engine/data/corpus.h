// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/base/json_fwd.h"
#include "engine/data/corpus_progress.h"
#include "engine/data/corpus_source.h"
#include "engine/data/document_reader.h"
#include "engine/data/source_files.h"

namespace athanor {

/// Sources with the files that they are, as they were found on disk.
class Corpus {
 public:
  struct Part {
    CorpusSource source;
    std::vector<SourceFile> files;
  };

  /// Throws what find_source_files() throws, and invalid_argument for no source at all.
  Corpus(const std::vector<CorpusSource>& sources, const CorpusOptions& options);

  const std::vector<Part>& parts() const { return parts_; }
  const CorpusOptions& options() const { return options_; }
  std::int64_t disk_bytes() const { return disk_bytes_; }
  /// For sentences: "stories.txt", or "stories.txt and 2 more".
  const std::string& name() const { return name_; }
  /// Reads the first document of each source, so that a wrong field or a file that is no text is
  /// told before all else is read.
  void check_beginnings(const CancelToken& cancel) const;
  /// Throws busy when a file is not as it was.
  void check_unchanged() const;

 private:
  std::vector<Part> parts_;
  CorpusOptions options_;
  std::int64_t disk_bytes_ = 0;
  std::string name_;
};

/// All documents of a corpus, source after source.
class CorpusReader {
 public:
  /// Both must outlive it.
  CorpusReader(const Corpus& corpus, ReadingLog& log) : corpus_(corpus), log_(log) {}

  /// See DocumentReader.
  bool next(DocumentPart& part);
  /// That the document is from, as an index of Corpus::parts().
  std::size_t source() const { return source_; }
  std::int64_t disk_bytes() const { return done_bytes_ + (reader_ ? reader_->disk_bytes() : 0); }

 private:
  const Corpus& corpus_;
  ReadingLog& log_;
  std::size_t source_ = 0;
  std::int64_t done_bytes_ = 0;
  std::unique_ptr<DocumentReader> reader_;
};

/// A text to train a tokenizer on, from all of the corpus: whole when it has at most
/// `sample_bytes`, else every n-th block of 64 KiB, n a power of two, so that what is left is
/// between half of that and all of it. Documents are apart as DocumentWalker sees them.
std::string sample_text(const Corpus& corpus, std::int64_t sample_bytes, const CancelToken& cancel,
                        const CorpusCallback& progress);

/// Sixteen hexadecimal digits that follow from the content of all files and from how documents are
/// made of it; not from names and times. `remembered` maps a file's path, size and time to the hash
/// of its content, which is looked up there for files over 64 MiB and entered.
std::string corpus_fingerprint(const Corpus& corpus, Json& remembered, const CancelToken& cancel,
                               const CorpusCallback& progress);

}  // namespace athanor
