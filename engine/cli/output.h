// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/json.h"

namespace athanor {

/// To standard output, at once. A closed pipe or a full disk there must not end a training run, so
/// failures are passed over.
void print(std::string_view text);
void print_line(std::string_view line);
/// One JSON value on a line of its own; bytes that are not UTF-8 become U+FFFD.
void print_json(const Json& value);
/// "athanorctl: <sentence>" on standard error.
void print_problem(std::string_view sentence);
void print_note(std::string_view line);

bool output_is_terminal();
bool input_is_terminal();

/// "12,345"
std::string grouped(std::int64_t value);
/// "12 s", "3 min 05 s", "1 h 02 min"
std::string duration_text(double seconds);
/// Control characters, such as a line break or an escape code in a run's name, become spaces.
std::string single_line(std::string text);

}  // namespace athanor
