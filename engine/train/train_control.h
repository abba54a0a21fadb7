// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <condition_variable>
#include <mutex>

#include "engine/base/cancel_token.h"

namespace athanor {

/// How another thread steers a trainer. Requests take effect within one micro-batch.
class TrainControl {
 public:
  void pause();
  void resume();
  void save_now();
  /// Ends the run; the trainer saves its last complete step.
  void stop();

  bool stop_requested() const { return stop_.requested(); }
  const CancelToken& token() const { return stop_; }
  bool pause_requested() const;
  /// True once for each save_now().
  bool take_save_request();
  /// Blocks while paused; returns at resume(), stop() or save_now().
  void wait_while_paused();

 private:
  CancelToken stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool paused_ = false;
  bool save_ = false;
};

}  // namespace athanor
