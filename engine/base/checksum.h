// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace athanor {

/// XXH3 64-bit hash of bytes: damage detection, not security. https://xxhash.com
std::uint64_t checksum(std::span<const std::byte> bytes);

/// Sixteen lower-case hexadecimal digits.
std::string checksum_text(std::uint64_t value);

}  // namespace athanor
