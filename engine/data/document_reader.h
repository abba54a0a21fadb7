// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/documents.h"
#include "engine/data/record_reader.h"
#include "engine/data/text_mapping.h"
#include "engine/data/text_window.h"

namespace athanor {

/// A document, or a part of one that is too long to be in memory at once.
struct DocumentPart {
  std::string text;  ///< empty only at the end of one that came in parts
  bool begins = true;
  bool ends = true;
  std::string file;
  std::int64_t line = 0;  ///< where the part begins
};

/// The documents of one source's files, one after the other. Those of white space alone are passed
/// over.
class DocumentReader {
 public:
  /// A plain text's document up to this is given whole; of a longer one each part is at least as
  /// long, but for the last.
  static constexpr std::size_t kWhole_bytes = 16 << 20;

  /// `log` must outlive it.
  DocumentReader(const CorpusSource& source, std::vector<SourceFile> files, ReadingLog& log);
  ~DocumentReader();

  /// False at the end. Records without the text go to the log as bad ones; when it is the first
  /// record of the source that has none, throws invalid_argument with the fields it has. A plain
  /// text with control characters, as binary files have, throws invalid_argument with the place.
  bool next(DocumentPart& part);
  /// Of the record that next() gave last; null for plain texts.
  const Record* record() const { return records_ ? &record_ : nullptr; }
  /// The field or template in use; empty as long as none is.
  std::string mapping() const { return mapping_ ? mapping_->description() : std::string(); }
  std::int64_t disk_bytes() const;

 private:
  bool open_next_file();
  bool next_of_records(DocumentPart& part);
  bool next_of_text(DocumentPart& part);
  void take(std::size_t bytes, std::size_t next, bool ends, DocumentPart& part);

  CorpusSource source_;
  std::vector<SourceFile> files_;
  ReadingLog& log_;
  std::size_t next_file_ = 0;
  std::int64_t done_bytes_ = 0;

  std::unique_ptr<RecordReader> records_;
  Record record_;
  std::optional<TextMapping> mapping_;
  bool mapping_fits_ = false;  ///< a record had the text

  DocumentEnds ends_;
  std::unique_ptr<TextWindow> window_;
  std::size_t looked_at_ = 0;  ///< bytes of the window without an end
  bool within_ = false;        ///< a document that began in an earlier part
  bool at_end_ = false;        ///< all of the file is in the window
};

}  // namespace athanor
