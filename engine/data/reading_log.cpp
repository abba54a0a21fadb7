// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/reading_log.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"

namespace athanor {

void ReadingLog::add(BadRecord record) {
  ++bad_records_;
  if (options_.bad_records == BadRecords::fail) {
    throw Error(ErrorKind::damaged,
                fmt::format("{}, line {}: {}. Correct that record, or let bad records be skipped.",
                            record.file, record.line, record.cause));
  }
  if (kept_.size() < kKept) kept_.push_back(std::move(record));
}

void ReadingLog::add_invalid_bytes(const std::string& file, std::int64_t line, std::int64_t bytes) {
  if (bytes == 0) return;
  const std::string place = fmt::format("{}, line {}", file, line);
  if (options_.invalid_utf8 == InvalidUtf8::fail) {
    throw Error(ErrorKind::damaged, place +
                                        " is not UTF-8. Open the file in a text editor and save it "
                                        "as UTF-8, or let such bytes be replaced.");
  }
  if (invalid_bytes_ == 0) first_invalid_ = place;
  invalid_bytes_ += bytes;
}

}  // namespace athanor
