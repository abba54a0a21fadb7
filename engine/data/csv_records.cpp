// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/data/record_formats.h"
#include "engine/data/text_window.h"

namespace athanor {

namespace {

constexpr std::size_t kMostColumns = 1024;

/// Rows of RFC 4180; lines may also end with "\n" alone, as most do.
class CsvReader : public RecordReader {
 public:
  CsvReader(const SourceFile& file, ReadingLog& log) : window_(file.path, log), log_(log) {
    delimiter_ = file.kind == SourceKind::tsv ? '\t' : likely_delimiter();
    read_header();
  }

  bool next(Record& record) override {
    while (true) {
      const Row row = read_row();
      if (row == Row::none) return false;
      const std::string cause = row == Row::whole ? mismatch() : row_cause(row);
      if (!cause.empty()) {
        log_.add({window_.file(), row_line_, cause});
        continue;
      }
      record.file = window_.file();
      record.line = row_line_;
      record.fields = Json::object();
      for (std::size_t i = 0; i < names_.size(); ++i)
        record.fields[names_[i]] = std::move(values_[i]);
      return true;
    }
  }

  std::int64_t disk_bytes() const override { return window_.disk_bytes(); }

 private:
  enum class Row { none, whole, too_long, open_quote };

  static std::string row_cause(Row row) {
    return row == Row::too_long ? too_long_text() : "a quotation mark in it is never closed";
  }

  std::string mismatch() const {
    if (values_.size() == names_.size()) return {};
    return fmt::format("it has {} fields where the first line has {}", values_.size(),
                       names_.size());
  }

  /// Programs of countries that write 0,5 separate fields by semicolons.
  char likely_delimiter() {
    window_.more();
    const std::string_view head = window_.view().substr(0, window_.view().find('\n'));
    char best = ',';
    std::ptrdiff_t most = std::count(head.begin(), head.end(), best);
    for (const char candidate : {';', '\t'}) {
      const std::ptrdiff_t count = std::count(head.begin(), head.end(), candidate);
      if (count > most) {
        most = count;
        best = candidate;
      }
    }
    return best;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorKind::damaged,
                fmt::format("{}: {}. The first line must name the fields, each once.",
                            window_.file(), what));
  }

  void read_header() {
    const Row row = read_row();
    if (row == Row::none) return;  // an empty file has no records
    if (row != Row::whole) refuse("the first line cannot be used, for " + row_cause(row));
    names_ = values_;
    if (names_.size() > kMostColumns) {
      refuse(
          fmt::format("the first line has {} fields, more than {}", names_.size(), kMostColumns));
    }
    std::set<std::string_view> seen;
    for (const std::string& name : names_) {
      if (!seen.insert(name).second) {
        refuse(fmt::format("the first line names the field \"{}\" twice", name.substr(0, 80)));
      }
    }
  }

  /// The character at `at` of the window, or 0 … 255 not: kEnd.
  int character(std::size_t at) {
    if (at >= window_.view().size() && !window_.more()) return kEnd;
    return static_cast<unsigned char>(window_.view()[at]);
  }

  /// Reads a row into values_ and uses it up; rows that are empty lines are passed over.
  Row read_row() {
    values_.assign(1, {});
    row_line_ = window_.line();
    std::size_t at = 0;
    bool too_long = false;
    bool quoted = false;      // within quotation marks
    bool was_quoted = false;  // this field began with one
    while (true) {
      if (at > kLongestRecord_bytes) {
        too_long = true;
        values_.assign(1, {});
        window_.skip(std::exchange(at, 0));
      }
      const int next = character(at);
      if (next == kEnd) {
        window_.skip(at);
        if (quoted) return too_long ? Row::too_long : Row::open_quote;
        if (is_empty_line(was_quoted) && !too_long) return Row::none;
        return too_long ? Row::too_long : Row::whole;
      }
      ++at;
      if (next == '"') {
        if (!quoted && values_.back().empty() && !was_quoted) {
          quoted = was_quoted = true;
        } else if (quoted && character(at) == '"') {
          append('"', too_long);
          ++at;
        } else if (quoted) {
          quoted = false;
        } else {
          append('"', too_long);
        }
      } else if (!quoted && next == delimiter_) {
        if (values_.size() <= kMostColumns) values_.emplace_back();
        was_quoted = false;
      } else if (!quoted && (next == '\n' || (next == '\r' && character(at) == '\n'))) {
        window_.skip(next == '\r' ? at + 1 : at);
        at = 0;
        if (too_long) return Row::too_long;
        if (!is_empty_line(was_quoted)) return Row::whole;
        row_line_ = window_.line();
      } else {
        append(static_cast<char>(next), too_long);
      }
    }
  }

  bool is_empty_line(bool was_quoted) const {
    return values_.size() == 1 && values_.front().empty() && !was_quoted;
  }

  void append(char byte, bool too_long) {
    if (!too_long) values_.back() += byte;
  }

  static constexpr int kEnd = -1;

  TextWindow window_;
  ReadingLog& log_;
  char delimiter_;
  std::vector<std::string> names_;
  std::vector<std::string> values_;  ///< of the row read last
  std::int64_t row_line_ = 1;        ///< where it begins
};

}  // namespace

std::unique_ptr<RecordReader> open_csv(const SourceFile& file, ReadingLog& log) {
  return std::make_unique<CsvReader>(file, log);
}

}  // namespace athanor
