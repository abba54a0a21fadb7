// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>

namespace athanor {

/// A folder that is filled beside its final place and put there in one step. Without commit()
/// nothing is left behind.
class AtomicFolder {
 public:
  /// Throws invalid_argument when there is something at `place` other than an empty folder, and io
  /// when its disk has less than `needed_bytes` free.
  AtomicFolder(std::filesystem::path place, std::int64_t needed_bytes);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Where its files are to be written, each whole and synced.
  const std::filesystem::path& path() const { return partial_; }
  void commit() { commit_as(place_); }
  /// Puts it somewhere else on the same disk.
  void commit_as(const std::filesystem::path& place);

 private:
  std::filesystem::path place_;
  std::filesystem::path partial_;
};

}  // namespace athanor
