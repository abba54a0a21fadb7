// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/base/checksum.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace athanor {

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string checksum_text(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace athanor
