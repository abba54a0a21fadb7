// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/base/cancel_token.h"
#include "engine/base/clock.h"
#include "engine/data/progress.h"

namespace athanor {

/// Polls a cancel token and passes progress on ten times a second, however often it is called.
class ProgressMeter {
 public:
  ProgressMeter(std::string stage, std::int64_t total, const CancelToken& cancel,
                const ProgressCallback& callback)
      : stage_(std::move(stage)), total_(total), cancel_(cancel), callback_(callback) {
    update(0, true);
  }

  /// Throws Cancelled when that was asked for.
  void update(std::int64_t done) { update(done, false); }
  void finish() { update(total_, true); }

 private:
  static constexpr double kInterval_seconds = 0.1;

  void update(std::int64_t done, bool always) {
    cancel_.throw_if_requested();
    if (!callback_ || (!always && since_report_.seconds() < kInterval_seconds)) return;
    since_report_ = Stopwatch();
    callback_(stage_, done, total_);
  }

  std::string stage_;
  std::int64_t total_;
  const CancelToken& cancel_;
  const ProgressCallback& callback_;
  Stopwatch since_report_;
};

}  // namespace athanor
