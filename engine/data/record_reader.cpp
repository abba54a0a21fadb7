// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/record_reader.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/data/record_formats.h"

namespace athanor {

namespace {

class SeveralFiles : public RecordReader {
 public:
  SeveralFiles(std::vector<SourceFile> files, ReadingLog& log)
      : files_(std::move(files)), log_(log) {}

  bool next(Record& record) override {
    while (true) {
      if (!reader_) {
        if (at_ == files_.size()) return false;
        reader_ = open_records(files_[at_], log_);
      }
      if (reader_->next(record)) return true;
      reader_.reset();
      done_bytes_ += files_[at_++].disk_bytes;
    }
  }

  std::int64_t disk_bytes() const override {
    return done_bytes_ + (reader_ ? reader_->disk_bytes() : 0);
  }

 private:
  std::vector<SourceFile> files_;
  ReadingLog& log_;
  std::size_t at_ = 0;
  std::int64_t done_bytes_ = 0;
  std::unique_ptr<RecordReader> reader_;
};

}  // namespace

std::unique_ptr<RecordReader> open_records(const SourceFile& file, ReadingLog& log) {
  switch (file.kind) {
    case SourceKind::json_lines:
      return open_json_lines(file, log);
    case SourceKind::json:
      return open_json(file, log);
    case SourceKind::csv:
    case SourceKind::tsv:
      return open_csv(file, log);
    case SourceKind::parquet:
      return open_parquet(file, log);
    case SourceKind::text:
      break;
  }
  throw Error(ErrorKind::invalid_argument,
              file.path.string() +
                  " holds plain text, not records. Choose a .jsonl, .json, .csv, .tsv or .parquet "
                  "file.");
}

std::unique_ptr<RecordReader> open_records(std::vector<SourceFile> files, ReadingLog& log) {
  return std::make_unique<SeveralFiles>(std::move(files), log);
}

std::string too_long_text() {
  return fmt::format("it is longer than {} MiB", RecordReader::kLongestRecord_bytes >> 20);
}

}  // namespace athanor
