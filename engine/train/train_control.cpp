// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/train_control.h"

#include <utility>

namespace athanor {

void TrainControl::pause() {
  const std::lock_guard lock(mutex_);
  paused_ = true;
}

void TrainControl::resume() {
  const std::lock_guard lock(mutex_);
  paused_ = false;
  changed_.notify_all();
}

void TrainControl::save_now() {
  const std::lock_guard lock(mutex_);
  save_ = true;
  changed_.notify_all();
}

void TrainControl::stop() {
  const std::lock_guard lock(mutex_);
  stop_.request();
  changed_.notify_all();
}

bool TrainControl::pause_requested() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

bool TrainControl::take_save_request() {
  const std::lock_guard lock(mutex_);
  return std::exchange(save_, false);
}

void TrainControl::wait_while_paused() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !paused_ || save_ || stop_.requested(); });
}

}  // namespace athanor
