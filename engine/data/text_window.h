// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/data/text_stream.h"

namespace athanor {

/// The part of a file's text that is in memory: grows at its end, is used up from its beginning.
class TextWindow {
 public:
  TextWindow(const std::filesystem::path& path, ReadingLog& log) : stream_(path, log) {}

  /// Valid until more().
  std::string_view view() const { return std::string_view(text_).substr(begin_); }
  /// Appends the file's next block; false at its end.
  bool more();
  /// Uses up the first bytes of view().
  void skip(std::size_t bytes);
  /// Of the first byte of view(), from 1.
  std::int64_t line() const { return line_; }
  const std::string& file() const { return stream_.file(); }
  std::int64_t disk_bytes() const { return stream_.disk_bytes(); }

 private:
  TextStream stream_;
  std::string text_;
  std::size_t begin_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace athanor
