// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_mapping.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/json.h"

namespace athanor {

namespace {

/// Names that fields of text have in published datasets, the most telling first.
constexpr std::array<std::string_view, 12> kUsualNames{
    "text",        "content",  "body", "document", "story",    "article",
    "raw_content", "markdown", "code", "passage",  "sentence", "page"};

constexpr std::size_t kMostListed = 40;

std::string field_list(const Json& fields) {
  std::string list;
  std::size_t listed = 0;
  for (const auto& [name, value] : fields.items()) {
    if (listed == kMostListed) return list + fmt::format(" and {} more", fields.size() - listed);
    list +=
        fmt::format("{}{} ({})", listed++ > 0 ? ", " : "", name.substr(0, 80), value.type_name());
  }
  return list.empty() ? "none" : list;
}

/// The value of a field, or of a nested one by its path with dots; null when there is none.
const Json* find_field(const Json& fields, const std::string& name) {
  if (!fields.is_object()) return nullptr;
  if (const auto found = fields.find(name); found != fields.end()) return &*found;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const auto found = fields.find(name.substr(0, dot));
    if (found == fields.end()) continue;
    if (const Json* const inner = find_field(*found, name.substr(dot + 1))) return inner;
  }
  return nullptr;
}

[[noreturn]] void refuse_template(const std::string& text, const std::string& what) {
  throw Error(ErrorKind::invalid_argument,
              "The template \"" + text + "\" " + what +
                  ". Write fields in braces, such as {title}, and braces themselves twice.");
}

}  // namespace

TextMapping::TextMapping(const std::string& text) : description_(text) {
  if (text.find_first_of("{}") == std::string::npos) {
    parts_.push_back({true, text});
    return;
  }
  std::string literal;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if ((byte == '{' || byte == '}') && next == byte) {
      literal += byte;
      ++at;
    } else if (byte == '\\' && (next == 'n' || next == 't')) {
      literal += next == 'n' ? '\n' : '\t';
      ++at;
    } else if (byte == '}') {
      refuse_template(text, "closes a brace that was not opened");
    } else if (byte == '{') {
      const std::size_t end = text.find('}', at);
      if (end == std::string::npos) refuse_template(text, "opens a brace that is not closed");
      if (!literal.empty()) parts_.push_back({false, std::exchange(literal, {})});
      parts_.push_back({true, text.substr(at + 1, end - at - 1)});
      at = end;
    } else {
      literal += byte;
    }
  }
  if (!literal.empty()) parts_.push_back({false, literal});
  for (const Part& part : parts_) {
    if (part.is_field) return;
  }
  refuse_template(text, "names no field");
}

TextMapping TextMapping::detect(const Json& fields, const std::string& place) {
  const auto as_field = [](const std::string& name) {
    TextMapping mapping("");
    mapping.description_ = name;
    mapping.parts_ = {{true, name}};
    return mapping;
  };
  std::string only_text;
  std::size_t texts = 0;
  for (const auto& [name, value] : fields.items()) {
    if (!value.is_string()) continue;
    only_text = name;
    ++texts;
  }
  if (texts == 1) return as_field(only_text);
  for (const std::string_view name : kUsualNames) {
    const auto found = fields.find(std::string(name));
    if (found != fields.end() && found->is_string()) return as_field(std::string(name));
  }
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} has no field that is clearly the text. Say which one is, or give a "
                          "template such as \"{{title}}\\n\\n{{text}}\". Its fields: {}.",
                          place, field_list(fields)));
}

bool TextMapping::apply(const Json& fields, std::string& text, std::string& cause) const {
  text.clear();
  for (const Part& part : parts_) {
    if (!part.is_field) {
      text += part.text;
      continue;
    }
    const Json* const value = find_field(fields, part.text);
    if (value == nullptr) {
      cause = fmt::format("it has no field \"{}\"; its fields: {}", part.text, field_list(fields));
      return false;
    }
    if (value->is_string()) {
      text += value->get_ref<const std::string&>();
    } else if (value->is_number() || value->is_boolean()) {
      text += value->dump();
    } else if (!value->is_null()) {
      cause = fmt::format("its field \"{}\" is no text but of the kind \"{}\"", part.text,
                          value->type_name());
      return false;
    }
  }
  return true;
}

}  // namespace athanor
