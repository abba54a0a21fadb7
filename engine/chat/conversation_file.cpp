// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/conversation_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace athanor {

namespace {
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kByte_order_mark = "\xEF\xBB\xBF";
}  // namespace

RecordFile::RecordFile(std::filesystem::path path)
    : path_(std::move(path)), file_(path_), text_(file_.text()) {
  if (text_.starts_with(kByte_order_mark)) start_ = kByte_order_mark.size();
  position_ = start_;
  pass_blanks();
  is_array_ = position_ < text_.size() && text_[position_] == '[';
  restart();
}

void RecordFile::restart() {
  position_ = start_;
  line_ = 1;
  number_ = 0;
}

std::string RecordFile::place(const Record& record) const {
  return fmt::format("{}, record {} (line {})", path_.string(), record.number, record.line);
}

std::optional<RecordFile::Record> RecordFile::next() {
  return is_array_ ? next_element() : next_line();
}

void RecordFile::pass(std::size_t to) {
  line_ += std::ranges::count(text_.substr(position_, to - position_), '\n');
  position_ = to;
}

void RecordFile::pass_blanks() {
  pass(std::min(text_.find_first_not_of(kBlanks, position_), text_.size()));
}

std::optional<RecordFile::Record> RecordFile::next_line() {
  pass_blanks();
  if (position_ == text_.size()) return {};
  const std::size_t end = std::min(text_.find('\n', position_), text_.size());
  const Record record{text_.substr(position_, end - position_), ++number_, line_};
  pass(end);
  return record;
}

std::optional<RecordFile::Record> RecordFile::next_element() {
  pass_blanks();
  if (number_ == 0) {
    pass(position_ + 1);
    pass_blanks();
  }
  if (position_ == text_.size()) refuse("the list of records has no end");
  if (text_[position_] == ']') return {};
  if (number_ > 0) {
    if (text_[position_] != ',') refuse("a comma is missing between two records");
    pass(position_ + 1);
    pass_blanks();
  }
  const std::size_t end = end_of_value(position_);
  const Record record{text_.substr(position_, end - position_), ++number_, line_};
  pass(end);
  return record;
}

std::size_t RecordFile::end_of_value(std::size_t from) const {
  std::int64_t depth = 0;
  bool quoted = false;
  for (std::size_t at = from; at < text_.size(); ++at) {
    const char c = text_[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') ++depth;
    const bool closes = c == '}' || c == ']';
    if (depth == 0 && (closes || c == ',')) return at;
    if (closes && --depth == 0) return at + 1;
  }
  refuse(fmt::format("record {} has no end", number_ + 1));
}

void RecordFile::refuse(const std::string& what) const {
  throw Error(ErrorKind::damaged,
              fmt::format("{}, line {}: {}. Get the file again, or correct it there.",
                          path_.string(), line_, what));
}

}  // namespace athanor
