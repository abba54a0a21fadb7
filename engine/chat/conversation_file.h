// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/file.h"
#include "engine/base/json_fwd.h"
#include "engine/chat/dialogue.h"

namespace athanor {

/// A file of records, one JSON value after the other: a line each (JSON Lines), or the elements of
/// one array. Only one record is in memory at a time.
class RecordFile {
 public:
  explicit RecordFile(std::filesystem::path path);

  struct Record {
    std::string_view json;
    std::int64_t number = 0;  ///< from 1
    std::int64_t line = 0;    ///< that it begins in, from 1
  };
  /// Nothing at the end. Throws damaged naming the line where an array does not go on as one.
  std::optional<Record> next();
  void restart();

  std::int64_t bytes() const { return static_cast<std::int64_t>(text_.size()); }
  /// Read so far.
  std::int64_t position() const { return static_cast<std::int64_t>(position_); }
  /// "data.jsonl, record 3 (line 3)"
  std::string place(const Record& record) const;

 private:
  std::optional<Record> next_line();
  std::optional<Record> next_element();
  /// The end of the JSON value that begins at `from`.
  std::size_t end_of_value(std::size_t from) const;
  void pass(std::size_t to);
  void pass_blanks();
  [[noreturn]] void refuse(const std::string& what) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::string_view text_;
  std::size_t start_ = 0;  ///< of the first record, or of what is before it
  std::size_t position_ = 0;
  std::int64_t line_ = 1;
  std::int64_t number_ = 0;
  bool is_array_ = false;
};

/// The conversation in a record of any of these forms:
/// - Alpaca: "instruction" and "output", perhaps "input", "system" and "history" of pairs
/// - OpenAI's: "messages" of {"role", "content"}; content is a text or a list of typed parts
///   {"type": "text", "text" or "value"}; "weight" or "loss_weight" 0 or 1 says whether a message
///   is trained
/// - ShareGPT's: "conversations" of {"from", "value"}, perhaps "system"
/// - "prompt" and "completion" (or "response"), each a text or a list of messages
/// Throws damaged "<place>: …" saying what is missing or cannot be honoured, or what is out of
/// order (check_conversation).
Dialogue read_conversation(const RecordFile::Record& record, const std::string& place);

}  // namespace athanor
