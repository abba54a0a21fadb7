// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/data/corpus_source.h"

namespace athanor {

/// A record that was not used, and why.
struct BadRecord {
  std::string file;
  std::int64_t line = 0;  ///< from 1; the row of a Parquet file
  std::string cause;      ///< a sentence's end: "it is not valid JSON"
};

/// Counts what was wrong with what was read, and ends the reading where that was asked for. One
/// thread at a time.
class ReadingLog {
 public:
  /// Readers poll `cancel`, if there is one, as long as they live.
  explicit ReadingLog(const ReadOptions& options, const CancelToken* cancel = nullptr)
      : options_(options), cancel_(cancel) {}

  const ReadOptions& options() const { return options_; }
  void throw_if_cancelled() const {
    if (cancel_ != nullptr) cancel_->throw_if_requested();
  }
  /// Throws damaged "FILE, line N: …" when bad records are fatal.
  void add(BadRecord record);
  /// Throws damaged when bytes that are not UTF-8 are fatal.
  void add_invalid_bytes(const std::string& file, std::int64_t line, std::int64_t bytes);

  std::int64_t bad_records() const { return bad_records_; }
  std::int64_t invalid_bytes() const { return invalid_bytes_; }
  /// The first of them, at most kKept.
  const std::vector<BadRecord>& kept() const { return kept_; }
  /// Where the first bytes were that are not UTF-8: "FILE, line N"; empty when there were none.
  const std::string& first_invalid() const { return first_invalid_; }

  static constexpr std::size_t kKept = 20;

 private:
  ReadOptions options_;
  const CancelToken* cancel_;
  std::int64_t bad_records_ = 0;
  std::int64_t invalid_bytes_ = 0;
  std::vector<BadRecord> kept_;
  std::string first_invalid_;
};

}  // namespace athanor
