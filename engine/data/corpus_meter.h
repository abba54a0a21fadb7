// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <utility>

#include "engine/base/cancel_token.h"
#include "engine/base/clock.h"
#include "engine/data/corpus_progress.h"

namespace athanor {

/// Polls a cancel token and passes a corpus's progress on ten times a second.
class CorpusMeter {
 public:
  CorpusMeter(std::string stage, std::int64_t total_bytes, const CancelToken& cancel,
              const CorpusCallback& callback)
      : cancel_(cancel), callback_(callback) {
    progress_.stage = std::move(stage);
    progress_.total_bytes = total_bytes;
    tell();
  }

  /// Throws Cancelled when that was asked for.
  void update(std::int64_t done_bytes, const CorpusCounts& counts) {
    cancel_.throw_if_requested();
    progress_.done_bytes = done_bytes;
    progress_.counts = counts;
    if (since_report_.seconds() >= kInterval_seconds) tell();
  }
  void finish() {
    progress_.done_bytes = progress_.total_bytes;
    tell();
  }

 private:
  static constexpr double kInterval_seconds = 0.1;
  static constexpr double kLeast_seconds = 2;  ///< before a pace is known

  void tell() {
    cancel_.throw_if_requested();
    since_report_ = Stopwatch();
    if (!callback_) return;
    const double seconds = since_start_.seconds();
    if (seconds > kLeast_seconds && progress_.done_bytes > 0) {
      const auto left = static_cast<double>(progress_.total_bytes - progress_.done_bytes);
      progress_.seconds_left = seconds * left / static_cast<double>(progress_.done_bytes);
    }
    callback_(progress_);
  }

  CorpusProgress progress_;
  const CancelToken& cancel_;
  const CorpusCallback& callback_;
  Stopwatch since_start_;
  Stopwatch since_report_;
};

}  // namespace athanor
