// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/json.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace athanor {

namespace {
std::string position_text(std::string_view text, std::size_t byte) {
  // The parser's byte counts from 1 and points at the last character it read.
  const std::string_view before = text.substr(0, std::min(text.size(), byte > 0 ? byte - 1 : 0));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

template <class Value>
Value parse(std::string_view text, const std::string& name) {
  try {
    return Value::parse(text);
  } catch (const typename Value::parse_error& error) {
    throw Error(ErrorKind::damaged,
                name + ", " + position_text(text, error.byte) +
                    ": this is not valid JSON. Correct that place, or restore the file.",
                error.what());
  } catch (const typename Value::exception& error) {
    // A number outside every type's range ends here.
    throw Error(ErrorKind::damaged,
                name + " holds a value that no number can have. Correct it, or restore the file.",
                error.what());
  }
}

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  return parse<Json>(text, name);
}

KeyedJson parse_keyed_json(std::string_view text, const std::string& name) {
  return parse<KeyedJson>(text, name);
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_small_file(path), path.string());
}

}  // namespace athanor
