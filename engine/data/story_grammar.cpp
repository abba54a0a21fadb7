// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/story_grammar.h"

#include <algorithm>
#include <cctype>

#include "engine/base/error.h"

namespace athanor::story {

namespace {

class Expander {
 public:
  Expander(const Slots& slots, Choices& choices) : slots_(slots), choices_(choices) {}

  std::string take() { return std::move(out_); }

  void expand(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '{') {
        const std::size_t end = text.find('}', at);
        expand(slots_.get(text.substr(at + 1, end - at - 1)));
        at = end + 1;
      } else if (text[at] == '[') {
        at = expand_choice(text, at + 1);
      } else {
        out_.push_back(text[at++]);
      }
    }
  }

 private:
  /// Expands one part of the alternatives that begin at `at`; returns the place after their
  /// bracket.
  std::size_t expand_choice(std::string_view text, std::size_t at) {
    std::vector<std::string_view> parts;
    std::size_t part_start = at;
    for (int depth = 1; depth > 0; ++at) {
      if (at >= text.size()) {
        throw Error(ErrorKind::internal, "A story text has a bracket without its end.");
      }
      const char c = text[at];
      if (c == '[') ++depth;
      if (c == ']') --depth;
      const bool part_ends = depth == 0 || (depth == 1 && c == '|');
      if (!part_ends) continue;
      parts.push_back(text.substr(part_start, at - part_start));
      part_start = at + 1;
    }
    expand(choices_.one_of<std::string_view>(parts));
    return at;
  }

  const Slots& slots_;
  Choices& choices_;
  std::string out_;
};

bool is_vowel(char c) {
  return std::string_view("aeiouAEIOU").find(c) != std::string_view::npos;
}

/// Whether `written` ends with the word "a".
bool ends_with_lone_a(std::string_view written) {
  if (!written.ends_with('a') && !written.ends_with('A')) return false;
  written.remove_suffix(1);
  return written.empty() ||
         std::string_view(" \n\"").find(written.back()) != std::string_view::npos;
}

/// Whether a letter that follows `written` begins a sentence or a speech. A "?" or "!" that ends a
/// speech may go on with "asked she", so those texts write their capitals themselves.
bool begins_sentence(std::string_view written) {
  if (written.empty() || written.back() == '\n') return true;
  if (written.back() == '"') {
    return written.size() == 1 || written[written.size() - 2] == ' ';
  }
  if (written.back() != ' ') return false;
  written.remove_suffix(1);
  if (written.ends_with('.') || written.ends_with('!') || written.ends_with('?')) return true;
  return written.ends_with(".\"");
}

}  // namespace

void Slots::set(std::string_view name, std::string value) {
  values_.emplace_back(name, std::move(value));
}

const std::string& Slots::get(std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == values_.end()) {
    throw Error(ErrorKind::internal,
                "A story text names the slot {" + std::string(name) + "}, which does not exist.");
  }
  return found->second;
}

std::string expand(std::string_view text, const Slots& slots, Choices& choices) {
  Expander expander(slots, choices);
  expander.expand(text);
  return expander.take();
}

std::string polish(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    if (c == ' ' && at + 1 < text.size() && is_vowel(text[at + 1]) && ends_with_lone_a(out)) {
      out.push_back('n');
    }
    const bool capital = std::islower(static_cast<unsigned char>(c)) != 0 && begins_sentence(out);
    out.push_back(capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c);
  }
  while (out.ends_with(' '))
    out.pop_back();
  return out;
}

}  // namespace athanor::story
