// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace athanor {

/// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel Random Numbers: As Easy
/// as 1, 2, 3" (SC 2011): any number of a stream follows from (seed, stream, index) without state.
class Philox {
 public:
  using Block = std::array<std::uint32_t, 4>;

  constexpr Philox(std::uint64_t seed, std::uint64_t stream)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        stream_(stream) {}

  /// Four independent 32-bit words for one counter value.
  constexpr Block block(std::uint64_t counter) const {
    Block c{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
            static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)};
    std::uint32_t k0 = key_[0];
    std::uint32_t k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return c;
  }

  /// The index-th 32-bit word of the stream.
  constexpr std::uint32_t word(std::uint64_t index) const { return block(index / 4)[index % 4]; }

  /// The index-th number in [0, 1), from 24 bits.
  constexpr float uniform(std::uint64_t index) const {
    return static_cast<float>(word(index) >> 8) * 0x1p-24F;
  }

  /// The index-th standard normal number (Box–Muller; pairs share a block).
  float normal(std::uint64_t index) const {
    const Block b = block(index / 2);
    const double radius = std::sqrt(-2.0 * std::log((b[0] + 1.0) * 0x1p-32));
    const double angle = 2.0 * std::numbers::pi * (b[1] * 0x1p-32);
    return static_cast<float>(radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t stream_;
};

}  // namespace athanor
