// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/json_scanner.h"

#include <fmt/format.h>

#include <array>

#include "engine/data/record_reader.h"

namespace athanor {

namespace {

/// Says what makes a value too much to parse; empty when nothing does.
std::string excess_of(std::string_view text) {
  std::array<int, RecordReader::kDeepest + 1> fields{};
  std::size_t depth = 0;
  std::size_t values = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    switch (text[at]) {
      case '"':
        for (++at; at < text.size() && text[at] != '"'; ++at) {
          if (text[at] == '\\') ++at;
        }
        break;
      case '{':
      case '[':
        if (++depth > RecordReader::kDeepest) {
          return fmt::format("it is nested deeper than {} levels", RecordReader::kDeepest);
        }
        fields[depth] = 0;
        ++values;
        break;
      case '}':
      case ']':
        if (depth > 0) --depth;
        break;
      case ',':
        ++values;
        break;
      case ':':
        if (++fields[depth] > kMostFields) {
          return fmt::format("it has more than {} fields", kMostFields);
        }
        break;
      default:
        break;
    }
    if (values > kMostValues) return fmt::format("it has more than {} values", kMostValues);
  }
  return {};
}

}  // namespace

std::size_t JsonValueEnd::feed(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (byte == '\\') {
        escaped_ = true;
      } else if (byte == '"') {
        in_string_ = false;
        complete_ = depth_ == 0;
        if (complete_) return at + 1;
      }
      continue;
    }
    if (byte == '"') {
      in_string_ = true;
    } else if (byte == '{' || byte == '[') {
      ++depth_;
    } else if (byte == '}' || byte == ']') {
      // Without an opening one it is the array's around this value.
      complete_ = depth_ <= 1;
      if (depth_ == 0) return at;
      --depth_;
      if (complete_) return at + 1;
    } else if (depth_ == 0 &&
               (byte == ',' || byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t')) {
      complete_ = true;
      return at;
    }
  }
  return text.size();
}

bool parse_record(std::string_view text, Json& fields, std::string& cause) {
  fields = nullptr;
  cause = excess_of(text);
  if (!cause.empty()) return false;
  try {
    fields = Json::parse(text);
  } catch (const Json::parse_error& error) {
    cause = fmt::format("it is not valid JSON (column {})", error.byte);
    return false;
  } catch (const Json::exception&) {
    cause = "it holds a value that no number can have";
    return false;
  }
  if (fields.is_object()) return true;
  cause =
      fmt::format("it is not a record in braces {{ }} but of the kind \"{}\"", fields.type_name());
  fields = nullptr;
  return false;
}

}  // namespace athanor
