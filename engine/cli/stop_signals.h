// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace athanor {

/// Turns Ctrl+C, and a request of the system to end, into a call on a thread of its own: the first
/// asks to stop, the second ends the process at once with kStopped. Made before other threads,
/// which inherit that the signals are not theirs.
class StopSignals {
 public:
  explicit StopSignals(std::function<void()> on_first);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  bool seen() const { return seen_; }

 private:
  void wait_for_signals();

  std::function<void()> on_first_;
  std::atomic<bool> seen_{false};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace athanor
