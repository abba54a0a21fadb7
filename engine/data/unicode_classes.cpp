// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/unicode_classes.h"

#include <algorithm>
#include <map>

namespace athanor {

UnicodeTable::UnicodeTable() {
  std::map<std::array<std::uint8_t, kBlock>, std::uint16_t> known;
  std::size_t range = 0;
  for (std::size_t place = 0; place < places_.size(); ++place) {
    std::array<std::uint8_t, kBlock> block;
    for (std::size_t at = 0; at < kBlock; ++at) {
      const std::size_t code = place * kBlock + at;
      while (range + 1 < kUnicodeRanges && kUnicode_ranges[range + 1].first <= code)
        ++range;
      block[at] = kUnicode_ranges[range].classes;
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
