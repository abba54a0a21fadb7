// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <utility>

#include "engine/base/philox.h"

namespace athanor {

/// The order of an epoch's windows and their common shift, both following from (seed, epoch) alone:
/// a Feistel network over the next power of four, walked along its cycles until it is inside the
/// range (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
class WindowOrder {
 public:
  WindowOrder(std::int64_t windows, std::uint64_t seed, std::int64_t epoch)
      : windows_(windows),
        random_(seed, kStream ^ static_cast<std::uint64_t>(epoch)),
        half_bits_(half_bits(windows)) {}

  /// The place in the text of the `index`-th window to visit: each of [0, windows) exactly once.
  std::int64_t at(std::int64_t index) const {
    auto value = static_cast<std::uint64_t>(index);
    do {
      value = encrypt(value);
    } while (value >= static_cast<std::uint64_t>(windows_));
    return static_cast<std::int64_t>(value);
  }

  /// One number in [0, shifts).
  std::int64_t shift(std::int64_t shifts) const {
    const Philox::Block block = random_.block(kShiftCounter);
    const std::uint64_t word = std::uint64_t{block[0]} << 32 | block[1];
    return static_cast<std::int64_t>(word % static_cast<std::uint64_t>(shifts));
  }

 private:
  static constexpr std::uint64_t kStream = 0x77696E646F77'0000;  // "window"
  static constexpr std::uint64_t kShiftCounter = ~std::uint64_t{0};
  static constexpr std::uint64_t kRounds = 4;

  static int half_bits(std::int64_t windows) {
    int bits = 1;
    while (std::int64_t{1} << (2 * bits) < windows)
      ++bits;
    return bits;
  }

  std::uint64_t encrypt(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed = random_.block(round << 32 | right)[0] & mask;
      left ^= mixed;
      std::swap(left, right);
    }
    return left << half_bits_ | right;
  }

  std::int64_t windows_;
  Philox random_;
  int half_bits_;
};

}  // namespace athanor
