// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/json.h"
#include "engine/data/reading_log.h"
#include "engine/data/source_files.h"

namespace athanor {

/// One record of a file. What a JSON record holds is as it was; of CSV every field is text, of
/// Parquet what JSON has a type for.
struct Record {
  Json fields;  ///< an object
  std::string file;
  std::int64_t line = 0;  ///< where it begins, from 1; the row of a Parquet file
};

/// Records one after the other, never a whole file in memory.
class RecordReader {
 public:
  /// A JSON record longer than this is a bad one, and so is one nested deeper.
  static constexpr std::size_t kLongestRecord_bytes = 32 << 20;
  static constexpr int kDeepest = 64;

  virtual ~RecordReader() = default;
  /// False at the end. Records that are not valid go to the log, which may throw; what cannot be
  /// read at all (io, damaged packing, a CSV without a header) always throws.
  virtual bool next(Record& record) = 0;
  /// Bytes on disk that were used so far, for progress.
  virtual std::int64_t disk_bytes() const = 0;
};

/// Whether files of this kind hold records; plain texts do not.
constexpr bool has_records(SourceKind kind) {
  return kind != SourceKind::text;
}

/// The records of one file: JSON Lines, JSON (an array of objects, or objects one after the other),
/// CSV and TSV (RFC 4180, first line the fields' names, quoted fields may hold line breaks), each
/// also packed; Parquet where the program was built with Apache Arrow, else throws unsupported
/// saying what to install. `log` must outlive the reader. Throws invalid_argument for a plain text.
std::unique_ptr<RecordReader> open_records(const SourceFile& file, ReadingLog& log);

/// The records of several files as one.
std::unique_ptr<RecordReader> open_records(std::vector<SourceFile> files, ReadingLog& log);

}  // namespace athanor
