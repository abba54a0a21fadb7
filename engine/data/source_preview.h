// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/data/corpus_source.h"
#include "engine/data/progress.h"
#include "engine/data/reading_log.h"
#include "engine/data/source_files.h"

namespace athanor {

struct FieldSummary {
  std::string name;
  std::string type;          ///< "text", "number", "truth", "list", "record", "nothing" or "mixed"
  std::int64_t records = 0;  ///< of those looked at, how many have it
  std::string example;       ///< the first value, at most 200 bytes
};

struct PreviewedRecord {
  std::string file;
  std::int64_t line = 0;
  /// As JSON on one line, at most kLongestPreview_bytes; of a plain text the document's beginning.
  std::string content;
  std::string text;     ///< what would be trained on, at most kLongestPreview_bytes
  std::string problem;  ///< why there is no text; empty when there is
};

constexpr std::size_t kLongestPreview_bytes = 4000;

/// What a source is, as far as it was read.
struct SourcePreview {
  std::vector<SourceFile> files;
  std::int64_t disk_bytes = 0;       ///< of all files
  std::vector<FieldSummary> fields;  ///< in the order in which they turned up; none of plain texts
  std::string text;                  ///< the field or template in use; empty for plain texts
  std::vector<PreviewedRecord> first;  ///< the first records or documents
  std::int64_t documents = 0;          ///< read so far
  std::int64_t text_bytes = 0;         ///< in these
  bool complete = false;               ///< all was read
  std::int64_t bad_records = 0;
  std::vector<BadRecord> bad;      ///< the first of them
  std::int64_t invalid_bytes = 0;  ///< that are not UTF-8
  std::string first_invalid;       ///< "FILE, line N"
  std::string problem;             ///< a sentence when it cannot be trained on as it is
};

struct PreviewOptions {
  std::int64_t records = 20;  ///< shown
  /// Documents that are read to count; 0: all there are.
  std::int64_t read_documents = 1000;
};

/// Looks into a source without preparing anything; for a page that shows it and for athanorctl data
/// inspect. Faults in the content are in the result; throws what find_source_files() throws, and
/// Cancelled.
SourcePreview preview_source(const CorpusSource& source, const ReadOptions& read,
                             const PreviewOptions& options, const CancelToken& cancel,
                             const ProgressCallback& progress = {});

}  // namespace athanor
