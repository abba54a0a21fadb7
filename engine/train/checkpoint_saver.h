// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <future>

#include "engine/io/checkpoint.h"

namespace athanor {

/// Saves a run's checkpoints while training goes on: what they hold is copied at once, into the
/// system's memory for files, and a thread brings it to the disk and removes those that need not
/// stay. One at a time; all methods on one thread. A save under way is finished before the object
/// goes.
class CheckpointSaver {
 public:
  explicit CheckpointSaver(std::filesystem::path root) : folder_(std::move(root)) {}

  const CheckpointFolder& folder() const { return folder_; }
  bool saving() const { return saved_.valid(); }
  /// Whether finish() would return at once.
  bool done() const;
  /// Returns when `content` may change again. Only while not saving(). Throws as
  /// CheckpointFolder::copy() does.
  void start(const CheckpointFolder::Content& content, const Retention& kept);
  /// Waits for the save under way; returns the checkpoint's folder or throws what went wrong.
  std::filesystem::path finish() { return saved_.get(); }

 private:
  CheckpointFolder folder_;
  std::future<std::filesystem::path> saved_;
};

}  // namespace athanor
