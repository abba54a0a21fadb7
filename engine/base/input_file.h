// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace athanor {

/// A regular file that is read from front to back. Throws file_error when it cannot be opened or
/// read and invalid_argument when it is not a regular file.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills the front of `out`; returns how much, less than all only at the end.
  std::size_t read(std::span<char> out);

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  std::int64_t size() const { return size_; }                ///< bytes, when it was opened
  std::int64_t modified_ns() const { return modified_ns_; }  ///< since 1970, when it was opened

 private:
  std::filesystem::path path_;
  int descriptor_;
  std::int64_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

}  // namespace athanor
