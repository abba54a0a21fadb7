// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/store/curve_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace athanor {

namespace {

constexpr const char* kMetrics = "metrics.csv";
constexpr const char* kMetricHeader =
    "step,tokens,seconds,loss,learning_rate,gradient_norm,tokens_per_second\n";
constexpr const char* kEvaluations = "evaluations.csv";
constexpr const char* kEvaluationHeader = "step,tokens,seconds,loss,bits_per_byte\n";

/// Adds lines to a file that gets `header` as its first; a line that was cut off before ends here.
void append_lines(const std::filesystem::path& path, const char* header, const std::string& lines) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) throw file_error("write", path.string(), errno);
  struct stat status {};
  ::fstat(descriptor, &status);
  char last = '\n';
  const bool cut_off =
      status.st_size > 0 && ::pread(descriptor, &last, 1, status.st_size - 1) == 1 && last != '\n';
  const std::string text =
      fmt::format("{}{}{}", status.st_size == 0 ? header : "", cut_off ? "\n" : "", lines);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  ::close(descriptor);
  if (written != static_cast<ssize_t>(text.size())) {
    throw file_error("write", path.string(), error);
  }
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}

/// The fields of a line with exactly `kFields` of them.
template <std::size_t kFields>
bool split(std::string_view line, std::array<std::string_view, kFields>& fields) {
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == kFields)) return false;
    fields[i] = line.substr(0, comma);
    line.remove_prefix(i + 1 == kFields ? line.size() : comma + 1);
  }
  return true;
}

template <class Row, class ParseLine>
std::vector<Row> read_rows(const std::filesystem::path& path, const ParseLine& parse_line) {
  std::vector<Row> rows;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    // Without its end a line may have lost digits.
    if (file.eof()) break;
    Row row;
    if (!parse_line(line, row)) continue;
    while (!rows.empty() && rows.back().step >= row.step)
      rows.pop_back();
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

void CurveFiles::append(std::span<const MetricRow> rows) const {
  std::string lines;
  for (const MetricRow& row : rows) {
    fmt::format_to(std::back_inserter(lines), "{},{},{},{},{},{},{}\n", row.step, row.tokens,
                   row.seconds, row.loss, row.learning_rate, row.gradient_norm,
                   row.tokens_per_second);
  }
  if (!lines.empty()) append_lines(folder_ / kMetrics, kMetricHeader, lines);
}

void CurveFiles::append(const EvaluationRow& row) const {
  append_lines(folder_ / kEvaluations, kEvaluationHeader,
               fmt::format("{},{},{},{},{}\n", row.step, row.tokens, row.seconds, row.loss,
                           row.bits_per_byte));
}

std::vector<MetricRow> CurveFiles::metrics() const {
  return read_rows<MetricRow>(folder_ / kMetrics, [](std::string_view line, MetricRow& row) {
    std::array<std::string_view, 7> fields;
    return split(line, fields) && parse(fields[0], row.step) && parse(fields[1], row.tokens) &&
           parse(fields[2], row.seconds) && parse(fields[3], row.loss) &&
           parse(fields[4], row.learning_rate) && parse(fields[5], row.gradient_norm) &&
           parse(fields[6], row.tokens_per_second);
  });
}

std::vector<EvaluationRow> CurveFiles::evaluations() const {
  return read_rows<EvaluationRow>(
      folder_ / kEvaluations, [](std::string_view line, EvaluationRow& row) {
        std::array<std::string_view, 5> fields;
        return split(line, fields) && parse(fields[0], row.step) && parse(fields[1], row.tokens) &&
               parse(fields[2], row.seconds) && parse(fields[3], row.loss) &&
               parse(fields[4], row.bits_per_byte);
      });
}

}  // namespace athanor
