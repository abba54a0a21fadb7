// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/json.h"

namespace athanor {

/// Finds where a JSON value ends by its brackets and quotes alone, fed piece by piece. Whether it
/// is valid in between is for the parser to say.
class JsonValueEnd {
 public:
  /// The value's bytes in `text`, which goes on where the text before ended: to its end when it is
  /// in here, else all.
  std::size_t feed(std::string_view text);
  bool complete() const { return complete_; }
  /// Within brackets or quotes.
  bool is_open() const { return depth_ > 0 || in_string_; }

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool complete_ = false;
};

/// Parses one record. On failure `fields` is null and `cause` a sentence's end: "it is not valid
/// JSON (column 12)". Refuses what would take very long or much memory: nesting deeper than
/// RecordReader::kDeepest, more than kMostFields in one object or
/// kMostValues in all.
bool parse_record(std::string_view text, Json& fields, std::string& cause);

constexpr int kMostFields = 4096;
constexpr std::size_t kMostValues = 1 << 20;

}  // namespace athanor
