// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace athanor {

/// What tokenizers' patterns ask of a character, as bits. A table of the program's own (Unicode
/// 16.0, general categories), so that a text gives the same tokens whatever the system's libraries
/// know.
namespace unicode {
constexpr std::uint8_t kLetter = 1;  ///< \p{L}
constexpr std::uint8_t kNumber = 2;  ///< \p{N}
constexpr std::uint8_t kSpace = 4;   ///< White_Space, \s
constexpr std::uint8_t kMark = 8;    ///< \p{M}
constexpr std::uint8_t kUpper = 16;  ///< Lu, Lt, Lm or Lo
constexpr std::uint8_t kLower = 32;  ///< Ll, Lm or Lo
/// Newer than the normalizers of `tokenizers` know: they leave it as it is, and so does Athanor,
/// whatever the system's library knows.
constexpr std::uint8_t kSettled = 64;
}  // namespace unicode

/// The next so many characters, from U+0000 on, and what they are: a place among the names of
/// categories, and 32 when the character is settled.
struct UnicodeRange {
  std::uint32_t characters;
  std::uint8_t category;
};

constexpr std::size_t kUnicodeRanges = 4139;
extern const std::array<UnicodeRange, kUnicodeRanges> kUnicode_ranges;

/// First and last of each run of characters of a general category ("Lu") or of a group of them
/// ("L"); none for another name.
struct CharacterRun {
  char32_t first;
  char32_t last;
};
std::vector<CharacterRun> characters_of(std::string_view category);

class UnicodeTable {
 public:
  static const UnicodeTable& instance();

  std::uint8_t classes(char32_t code) const {
    return blocks_[static_cast<std::size_t>(places_[code / kBlock]) * kBlock + code % kBlock];
  }

 private:
  static constexpr std::size_t kBlock = 128;

  UnicodeTable();

  std::array<std::uint16_t, 0x110000 / kBlock> places_;
  std::vector<std::uint8_t> blocks_;
};

struct Character {
  char32_t code;
  std::size_t bytes;
};

/// The character at the start of text that is known to be UTF-8.
inline Character first_character(const char* text) {
  const auto byte = [text](int index) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[index]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0xF) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 7) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), 4};
}

/// `code` must be a Unicode scalar value.
void append_character(std::string& text, char32_t code);

}  // namespace athanor
