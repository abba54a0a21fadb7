// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace athanor {

namespace {
void write_to(std::FILE* stream, std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stream);
  (void)std::fflush(stream);
}
}  // namespace

void print(std::string_view text) {
  write_to(stdout, text);
}

void print_line(std::string_view line) {
  write_to(stdout, std::string(line) + "\n");
}

void print_json(const Json& value) {
  print_line(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_problem(std::string_view sentence) {
  write_to(stderr, fmt::format("athanorctl: {}\n", sentence));
}

void print_note(std::string_view line) {
  write_to(stderr, std::string(line) + "\n");
}

bool output_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

bool input_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(digits.begin() + static_cast<std::ptrdiff_t>(at), ',');
  }
  return digits;
}

std::string duration_text(double seconds) {
  constexpr std::int64_t kHour = 3600;
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / kHour, whole % kHour / 60);
}

std::string single_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return text;
}

}  // namespace athanor
