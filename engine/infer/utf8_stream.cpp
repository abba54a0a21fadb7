// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/generator.h"

namespace athanor {

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

/// Bytes of the character that `lead` starts; 0 when it starts none.
std::size_t character_bytes(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

/// Whether `next` may follow `lead` as the second byte (Unicode 15, table 3-7).
bool second_byte_fits(unsigned char lead, unsigned char next) {
  if (lead == 0xE0) return next >= 0xA0 && next <= 0xBF;
  if (lead == 0xED) return next >= 0x80 && next <= 0x9F;
  if (lead == 0xF0) return next >= 0x90 && next <= 0xBF;
  if (lead == 0xF4) return next >= 0x80 && next <= 0x8F;
  return next >= 0x80 && next <= 0xBF;
}

/// How many bytes of the character at the start of `text` are present and right.
std::size_t valid_prefix(std::string_view text, std::size_t wanted) {
  std::size_t have = 1;
  while (have < wanted && have < text.size()) {
    const auto next = static_cast<unsigned char>(text[have]);
    const bool fits = have == 1 ? second_byte_fits(static_cast<unsigned char>(text[0]), next)
                                : (next & 0xC0) == 0x80;
    if (!fits) break;
    ++have;
  }
  return have;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string whole;
  std::size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(at);
    const std::size_t wanted = character_bytes(static_cast<unsigned char>(rest[0]));
    const std::size_t have = wanted == 0 ? 1 : valid_prefix(rest, wanted);
    if (wanted != 0 && have < wanted && have == rest.size()) break;
    whole += have == wanted ? rest.substr(0, have) : std::string_view(kReplacement);
    at += have;
  }
  pending_.erase(0, at);
  return whole;
}

std::string Utf8Stream::finish() {
  const bool incomplete = !pending_.empty();
  pending_.clear();
  return incomplete ? kReplacement : "";
}

}  // namespace athanor
