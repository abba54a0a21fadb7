// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace athanor {

namespace {

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

/// Whether the second byte may follow the lead: this alone excludes overlong forms, surrogates and
/// values above U+10FFFF.
bool second_byte_fits(unsigned char lead, unsigned char second) {
  switch (lead) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return is_continuation(second);
  }
}

}  // namespace

std::size_t utf8_character_bytes(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t index) {
    return static_cast<unsigned char>(text[offset + index]);
  };
  const std::size_t available = text.size() - offset;
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (available < length || !second_byte_fits(lead, byte(1))) return 0;
  for (std::size_t index = 2; index < length; ++index) {
    if (!is_continuation(byte(index))) return 0;
  }
  return length;
}

std::size_t utf8_prefix_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t bytes = utf8_character_bytes(text, at);
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

bool is_utf8(std::string_view text) {
  return utf8_prefix_bytes(text) == text.size();
}

std::size_t next_character_start(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  while (offset < text.size() && is_continuation(static_cast<unsigned char>(text[offset]))) {
    ++offset;
  }
  return offset;
}

}  // namespace athanor
