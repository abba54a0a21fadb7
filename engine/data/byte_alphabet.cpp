// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>

#include "engine/base/utf8.h"
#include "engine/data/tokenizer_description.h"
#include "engine/data/unicode_classes.h"

namespace athanor::byte_alphabet {

namespace {

constexpr char32_t kFirstSubstitute = 0x100;

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/// Bytes that do not stand for themselves take the characters from U+0100 on, in order.
struct Alphabet {
  std::array<char32_t, 256> of_byte{};
  std::array<int, 0x200> of_character{};

  Alphabet() {
    of_character.fill(-1);
    char32_t next = kFirstSubstitute;
    for (unsigned byte = 0; byte < 256; ++byte) {
      of_byte[byte] = stands_for_itself(byte) ? byte : next++;
      of_character[of_byte[byte]] = static_cast<int>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet made;
  return made;
}

}  // namespace

std::string spelled(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    append_character(text, alphabet().of_byte[static_cast<unsigned char>(byte)]);
  return text;
}

bool read(std::string_view spelled, std::string& bytes) {
  bytes.clear();
  for (std::size_t at = 0; at < spelled.size();) {
    const std::size_t length = utf8_character_bytes(spelled, at);
    if (length == 0) return false;
    const Character character = first_character(spelled.data() + at);
    if (character.code >= alphabet().of_character.size()) return false;
    const int byte = alphabet().of_character[character.code];
    if (byte < 0) return false;
    bytes.push_back(static_cast<char>(byte));
    at += length;
  }
  return true;
}

}  // namespace athanor::byte_alphabet
