// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/setting_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace athanor {

namespace {
/// True for "model.context" in "a smaller model.context", not in "model.contexts".
bool ends_there(const std::string& text, std::size_t end) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  return end >= text.size() || !is_word(text[end]);
}

template <class Number>
bool parse_whole(const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end;
}
}  // namespace

Json value_as_typed(const std::string& text) {
  std::int64_t whole = 0;
  if (parse_whole(text, whole)) return whole;
  double real = 0;
  if (parse_whole(text, real) && std::isfinite(real)) return real;
  return text;
}

std::int64_t whole_number(const std::string& flag, const std::string& text, Bounds bounds) {
  std::int64_t number = 0;
  if (!parse_whole(text, number)) {
    throw Error(ErrorKind::invalid_argument,
                flag + " must be a whole number; it is \"" + text + "\".");
  }
  check_bounds(static_cast<double>(number), flag, bounds, true);
  return number;
}

void SettingOptions::add_to(CLI::App& command) {
  for (const SettingOption& option : known_) {
    Typed& typed = typed_.emplace_back(Typed{&option, nullptr, {}});
    typed.handle =
        option.is_flag
            ? command.add_flag(option.flag, option.help)
            : command.add_option(option.flag, typed.text, option.help)->type_name("VALUE");
  }
}

void SettingOptions::set_fields(Json& json, const std::string& part) const {
  for (const Typed& typed : typed_) {
    if (part != typed.option->part || typed.handle->count() == 0) continue;
    json[typed.option->field] = typed.option->is_flag ? Json(true) : value_as_typed(typed.text);
  }
}

bool SettingOptions::was_typed(const std::string& flag) const {
  return std::ranges::any_of(typed_, [&](const Typed& typed) {
    return typed.option->flag == flag && typed.handle->count() > 0;
  });
}

std::string SettingOptions::in_terms_of_options(std::string message) const {
  for (const SettingOption& option : known_) {
    const std::string path = std::string(option.part) + "." + option.field;
    const std::string flag = option.flag;
    for (std::size_t at = message.find(path); at != std::string::npos;
         at = message.find(path, at)) {
      if (ends_there(message, at + path.size())) message.replace(at, path.size(), flag);
      at += flag.size();
    }
  }
  return message;
}

}  // namespace athanor
