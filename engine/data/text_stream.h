// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/data/byte_source.h"
#include "engine/data/reading_log.h"

namespace athanor {

/// A file's text in blocks of 128 KiB that end between characters. A byte-order mark is
/// taken off, UTF-16 with one is converted; UTF-16 without one throws invalid_argument. Bytes that
/// are not UTF-8 are treated as the log's options say.
class TextStream {
 public:
  /// `log` must outlive it.
  TextStream(const std::filesystem::path& path, ReadingLog& log);

  /// Appends the next block to `text`; false, and nothing appended, at the end.
  bool read(std::string& text);
  const std::string& file() const { return file_; }
  std::int64_t disk_bytes() const { return bytes_->disk_bytes(); }

 private:
  enum class Encoding { utf8, utf16_little, utf16_big };

  void detect();
  void append_utf8(std::string_view block, bool last, std::string& text);
  void append_utf16(std::string_view block, bool last, std::string& text);
  void append_invalid(std::string_view bytes, std::string& text);

  std::string file_;
  ReadingLog& log_;
  std::unique_ptr<ByteSource> bytes_;
  std::string block_;         ///< what was read and is not part of the text yet
  std::size_t start_ = 0;     ///< of this block in the text
  std::int64_t line_ = 1;     ///< at the end of what was given
  std::int64_t invalid_ = 0;  ///< bytes in this block
  std::int64_t first_invalid_line_ = 0;
  Encoding encoding_ = Encoding::utf8;
  bool at_start_ = true;
  bool at_end_ = false;
};

/// Whether a text that begins like this is UTF-16 without a byte-order mark: every second byte is
/// zero.
bool looks_like_unmarked_utf16(std::string_view head);

}  // namespace athanor
