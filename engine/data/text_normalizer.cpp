// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/text_normalizer.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "engine/base/error.h"
#include "engine/data/unicode_classes.h"

namespace athanor {

namespace {

utf8proc_option_t options_of(NormalizerStep::Kind kind) {
  constexpr int kCompose = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
  constexpr int kDecompose = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
  switch (kind) {
    case NormalizerStep::Kind::nfc:
      return static_cast<utf8proc_option_t>(kCompose);
    case NormalizerStep::Kind::nfd:
      return static_cast<utf8proc_option_t>(kDecompose);
    case NormalizerStep::Kind::nfkc:
      return static_cast<utf8proc_option_t>(kCompose | UTF8PROC_COMPAT);
    default:
      return static_cast<utf8proc_option_t>(kDecompose | UTF8PROC_COMPAT);
  }
}

struct FreeDeleter {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

void append_in_form(utf8proc_option_t options, std::string_view text, std::string& result) {
  if (text.empty()) return;
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made, options);
  const std::unique_ptr<utf8proc_uint8_t, FreeDeleter> owner(made);
  if (bytes < 0) {
    throw Error(ErrorKind::internal, "A text could not be brought into a normalization form.",
                utf8proc_errmsg(bytes));
  }
  result.append(reinterpret_cast<const char*>(made), static_cast<std::size_t>(bytes));
}

/// The same, with the characters left alone that are newer than `tokenizers` knows.
void append_known_in_form(utf8proc_option_t options, std::string_view text, std::string& result) {
  const UnicodeTable& table = UnicodeTable::instance();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = first_character(text.data() + at);
    if (table.classes(character.code) & unicode::kSettled) {
      append_in_form(options, text.substr(begin, at - begin), result);
      result += text.substr(at, character.bytes);
      begin = at + character.bytes;
    }
    at += character.bytes;
  }
  append_in_form(options, text.substr(begin), result);
}

/// ASCII is the same in every form, begins what it stands in and never joins what came before: so
/// only what other characters touch is looked at.
std::string in_form(NormalizerStep::Kind kind, std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  // Below U+0300 nothing is composed or combines; only the other forms change anything there.
  const auto is_settled = [&](char c) {
    return kind == NormalizerStep::Kind::nfc ? static_cast<unsigned char>(c) < 0xCC : is_ascii(c);
  };
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (is_settled(text[at])) continue;
    std::size_t begin = at;
    while (begin > copied && !is_ascii(text[begin]))
      --begin;
    std::size_t end = at + 1;
    while (end < text.size() && !is_ascii(text[end]))
      ++end;
    result += text.substr(copied, begin - copied);
    append_known_in_form(options_of(kind), text.substr(begin, end - begin), result);
    copied = end;
    at = end - 1;
  }
  result += text.substr(copied);
  return result;
}

std::string with_replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t copied = 0;
  for (std::size_t at = text.find(from); at != std::string_view::npos;
       at = text.find(from, copied)) {
    result += text.substr(copied, at - copied);
    result += to;
    copied = at + from.size();
  }
  result += text.substr(copied);
  return result;
}

}  // namespace

void normalize(const std::vector<NormalizerStep>& steps, std::string& text, TextPlace place) {
  for (const NormalizerStep& step : steps) {
    switch (step.kind) {
      case NormalizerStep::Kind::replace:
        text = with_replaced(text, step.from, step.to);
        break;
      case NormalizerStep::Kind::prepend:
        if (text.empty() || place == TextPlace::inside) break;
        if (step.only_first && place != TextPlace::first) break;
        if (step.from.empty() || !text.starts_with(step.from)) text.insert(0, step.to);
        break;
      default:
        text = in_form(step.kind, text);
    }
  }
}

}  // namespace athanor
