// SPDX-License-Identifier: GPL-3.0-or-later
#include <utility>

#include "engine/data/json_scanner.h"
#include "engine/data/record_formats.h"
#include "engine/data/text_window.h"

namespace athanor {

namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// What both layouts of JSON have in common.
class JsonReader : public RecordReader {
 public:
  JsonReader(const SourceFile& file, ReadingLog& log) : window_(file.path, log), log_(log) {}
  std::int64_t disk_bytes() const override { return window_.disk_bytes(); }

 protected:
  void bad(std::int64_t line, std::string cause) {
    log_.add({window_.file(), line, std::move(cause)});
  }
  /// Parses the first `bytes` of the window and uses them up.
  bool parse(std::size_t bytes, Record& record) {
    std::string cause;
    record.file = window_.file();
    record.line = window_.line();
    const bool good = parse_record(window_.view().substr(0, bytes), record.fields, cause);
    window_.skip(bytes);
    if (!good) bad(record.line, std::move(cause));
    return good;
  }

  TextWindow window_;

 private:
  ReadingLog& log_;
};

/// One record a line (https://jsonlines.org).
class JsonLines : public JsonReader {
 public:
  using JsonReader::JsonReader;

  bool next(Record& record) override {
    while (find_line()) {
      const std::string_view line = window_.view().substr(0, line_bytes_);
      const bool empty = line.find_first_not_of(kSpace) == std::string_view::npos;
      if (empty) {
        window_.skip(line_bytes_);
      } else if (line.size() > kLongestRecord_bytes) {
        bad(window_.line(), too_long_text());
        window_.skip(line_bytes_);
      } else if (parse(line_bytes_, record)) {
        return true;
      }
    }
    return false;
  }

 private:
  /// Makes line_bytes_ the length of the line at the window's beginning, its line break included;
  /// false at the end. Lines that are far too long are passed over piece by piece.
  bool find_line() {
    std::size_t looked_at = 0;
    while (true) {
      const std::size_t found = window_.view().find('\n', looked_at);
      if (found != std::string_view::npos) {
        line_bytes_ = found + 1;
        if (!passing_over_) return true;
        passing_over_ = false;
        looked_at = 0;
        window_.skip(line_bytes_);
        continue;
      }
      looked_at = window_.view().size();
      if (looked_at > kLongestRecord_bytes || passing_over_) {
        if (!passing_over_) bad(window_.line(), too_long_text());
        passing_over_ = true;
        window_.skip(looked_at);
        looked_at = 0;
      }
      if (window_.more()) continue;
      line_bytes_ = window_.view().size();
      return line_bytes_ > 0;
    }
  }

  std::size_t line_bytes_ = 0;
  bool passing_over_ = false;
};

/// Records in a list, or one after the other with or without one (RFC 8259).
class JsonList : public JsonReader {
 public:
  using JsonReader::JsonReader;

  bool next(Record& record) override {
    while (find_value()) {
      if (find_end()) {
        if (parse(value_bytes_, record)) return true;
      }
    }
    return false;
  }

 private:
  /// Moves the window to the next value's first byte; false at the end.
  bool find_value() {
    while (true) {
      const std::string_view view = window_.view();
      const std::size_t begin = view.find_first_not_of(" \t\r\n,");
      if (begin == std::string_view::npos) {
        window_.skip(view.size());
        if (window_.more()) continue;
        if (in_list_) bad(window_.line(), "the file ends before the list's closing bracket ]");
        in_list_ = false;
        return false;
      }
      window_.skip(begin);
      const char first = view[begin];
      const bool opens = first == '[' && !in_list_;
      const bool closes = first == ']' && in_list_;
      if (!opens && !closes) return true;
      in_list_ = opens;
      window_.skip(1);
    }
  }

  /// Makes value_bytes_ the length of the value at the window's beginning. One that is too long is
  /// passed over piece by piece, one that is no value at all by its first byte: false.
  bool find_end() {
    JsonValueEnd end;
    const std::int64_t line = window_.line();
    bool too_long = false;
    value_bytes_ = 0;
    while (true) {
      value_bytes_ += end.feed(window_.view().substr(value_bytes_));
      if (!too_long && value_bytes_ > kLongestRecord_bytes) {
        bad(line, too_long_text());
        too_long = true;
      }
      if (too_long) window_.skip(std::exchange(value_bytes_, 0));
      if (end.complete()) break;
      if (!window_.more()) {
        if (too_long || !end.is_open()) break;
        bad(line, "the file ends in the middle of it");
        window_.skip(value_bytes_);
        return false;
      }
    }
    if (too_long || value_bytes_ > 0) return !too_long;
    bad(line, "there is a closing bracket too many");
    window_.skip(1);
    return false;
  }

  std::size_t value_bytes_ = 0;
  bool in_list_ = false;
};

}  // namespace

std::unique_ptr<RecordReader> open_json_lines(const SourceFile& file, ReadingLog& log) {
  return std::make_unique<JsonLines>(file, log);
}

std::unique_ptr<RecordReader> open_json(const SourceFile& file, ReadingLog& log) {
  return std::make_unique<JsonList>(file, log);
}

}  // namespace athanor
