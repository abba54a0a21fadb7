// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace athanor {

/// What was found in a corpus, or in as much of it as was read.
struct CorpusCounts {
  std::int64_t documents = 0;      ///< used
  std::int64_t text_bytes = 0;     ///< in these
  std::int64_t tokens = 0;         ///< of these
  std::int64_t duplicates = 0;     ///< documents left out because an earlier one is the same
  std::int64_t bad_records = 0;    ///< left out because they are not valid
  std::int64_t invalid_bytes = 0;  ///< that are not UTF-8
};

/// How far the preparation of a corpus is.
struct CorpusProgress {
  std::string stage;  ///< what it does: "Tokenizing the text"
  std::int64_t done_bytes = 0;
  std::int64_t total_bytes = 0;  ///< of the files on disk
  double seconds_left = -1;      ///< at the pace so far; below 0: not known yet
  CorpusCounts counts;
};

/// Called from the working thread, at most ten times a second.
using CorpusCallback = std::function<void(const CorpusProgress& progress)>;

}  // namespace athanor
