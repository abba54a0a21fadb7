// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "engine/base/checksum.h"

namespace athanor {

/// A piece of text as two words to compare and hash. Up to 15 bytes the words are the piece; of
/// longer ones they are length and hash, and equal words still ask for a look at the bytes.
struct PieceKey {
  static constexpr std::size_t kWholeBytes = 15;

  std::uint64_t low = 0;
  std::uint64_t high = 0;  ///< the piece's length in the last byte, 255 for long ones

  PieceKey() = default;
  explicit PieceKey(std::string_view piece) {
    if (piece.size() <= kWholeBytes) {
      std::array<std::uint64_t, 2> words{};
      std::memcpy(words.data(), piece.data(), piece.size());
      low = words[0];
      high = words[1] | static_cast<std::uint64_t>(piece.size()) << 56;
    } else {
      low = checksum(std::as_bytes(std::span(piece)));
      high = piece.size() | std::uint64_t{255} << 56;
    }
  }
  /// The same, of a piece in a text that goes on to `end`: reads beyond the piece.
  PieceKey(std::string_view piece, const char* end) {
    if (piece.size() > kWholeBytes || end - piece.data() < 16) {
      *this = PieceKey(piece);
      return;
    }
    std::memcpy(&low, piece.data(), 8);
    std::memcpy(&high, piece.data() + 8, 8);
    if (piece.size() < 8) {
      low &= ~(~std::uint64_t{0} << (8 * piece.size()));
      high = 0;
    } else {
      high &= ~(~std::uint64_t{0} << (8 * (piece.size() - 8)));
    }
    high |= static_cast<std::uint64_t>(piece.size()) << 56;
  }

  std::size_t bytes() const { return is_whole() ? high >> 56 : high & ~(std::uint64_t{255} << 56); }
  bool is_whole() const { return high >> 56 <= kWholeBytes; }
  friend bool operator==(const PieceKey&, const PieceKey&) = default;

  std::uint64_t hash() const {
    std::uint64_t mixed = (low ^ high * 0xD6E8FEB86659FD93) * 0x9E3779B97F4A7C15;
    mixed ^= mixed >> 32;
    return mixed * 0x9E3779B97F4A7C15 >> 20;
  }
};
static_assert(std::endian::native == std::endian::little);

}  // namespace athanor
