// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string_view>

#include "engine/base/cancel_token.h"
#include "engine/base/file.h"
#include "engine/data/progress.h"

namespace athanor {

/// A UTF-8 text file, memory-mapped after its whole content was checked.
class TextFile {
 public:
  /// Throws Error naming the file and, where there is one, the line and byte of the first fault:
  /// missing, unreadable, a folder, empty, only white space, binary (NUL or control bytes), not
  /// UTF-8 (says "save it as UTF-8"), sparse (a hole is binary: found in the first megabyte, not
  /// after 5 GB). UTF-16 is recognised and named. A UTF-8 byte-order mark is skipped. Cancelling
  /// throws Cancelled (engine/base/cancel_token.h).
  static TextFile open(const std::filesystem::path& path, const CancelToken& cancel,
                       const ProgressCallback& progress = {});

  const std::filesystem::path& path() const { return path_; }
  std::string_view text() const { return text_; }

 private:
  TextFile(std::filesystem::path path, MappedFile file);

  std::filesystem::path path_;
  MappedFile file_;
  std::string_view text_;
};

}  // namespace athanor
