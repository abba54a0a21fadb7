// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/unicode_classes.h"

#include <algorithm>
#include <map>

namespace athanor {

namespace {

constexpr std::array<std::string_view, 30> kCategories = {
    "Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl",
    "No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"};
constexpr std::uint8_t kSettledMark = 32;

std::string_view category_of(const UnicodeRange& range) {
  return kCategories[range.category % kSettledMark];
}

std::uint8_t classes_of(std::string_view category) {
  using namespace unicode;
  switch (category[0]) {
    case 'L':
      return kLetter | (category != "Ll" ? kUpper : 0) |
             (category != "Lu" && category != "Lt" ? kLower : 0);
    case 'M':
      return kMark;
    case 'N':
      return kNumber;
    case 'Z':
      return kSpace;
    default:
      return 0;
  }
}

/// White space that is a control character.
constexpr bool is_control_space(std::size_t code) {
  return (code >= 0x9 && code <= 0xD) || code == 0x85;
}

}  // namespace

std::vector<CharacterRun> characters_of(std::string_view category) {
  std::vector<CharacterRun> runs;
  char32_t first = 0;
  for (const UnicodeRange& range : kUnicode_ranges) {
    // Surrogates are no characters.
    const std::string_view name = category_of(range);
    if (!category.empty() && name != "Cs" && name.starts_with(category)) {
      if (!runs.empty() && runs.back().last + 1 == first) {
        runs.back().last += range.characters;
      } else {
        runs.push_back({first, first + range.characters - 1});
      }
    }
    first += range.characters;
  }
  return runs;
}

UnicodeTable::UnicodeTable() {
  std::map<std::array<std::uint8_t, kBlock>, std::uint16_t> known;
  std::size_t range = 0;
  std::size_t left = kUnicode_ranges[0].characters;
  for (std::size_t place = 0; place < places_.size(); ++place) {
    std::array<std::uint8_t, kBlock> block;
    for (std::size_t at = 0; at < kBlock; ++at) {
      const std::size_t code = place * kBlock + at;
      if (left == 0) left = kUnicode_ranges[++range].characters;
      --left;
      const UnicodeRange& here = kUnicode_ranges[range];
      block[at] = classes_of(category_of(here));
      if (is_control_space(code)) block[at] |= unicode::kSpace;
      if (here.category & kSettledMark) block[at] |= unicode::kSettled;
    }
    const auto [found, fresh] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (fresh) blocks_.insert(blocks_.end(), block.begin(), block.end());
    places_[place] = found->second;
  }
}

const UnicodeTable& UnicodeTable::instance() {
  static const UnicodeTable table;
  return table;
}

void append_character(std::string& text, char32_t code) {
  const auto add = [&text](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
    return;
  }
  if (code < 0x800) {
    add(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xE0 | code >> 12);
    } else {
      add(0xF0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3F));
    }
    add(0x80 | (code >> 6 & 0x3F));
  }
  add(0x80 | (code & 0x3F));
}

}  // namespace athanor
