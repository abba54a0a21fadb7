// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace athanor {

/// Pairs of tokens → what they merge into and when, as an open-addressing hash table: encoding asks
/// it for every two neighbours of a text, and a node-based map would be most of the time.
class MergeTable {
 public:
  static constexpr std::int32_t kNoMerge = std::numeric_limits<std::int32_t>::max();

  struct Merge {
    std::int32_t rank = kNoMerge;  ///< lower ones come first
    std::int32_t result = -1;
  };

  /// Sized once for `pairs`.
  explicit MergeTable(std::int64_t pairs)
      : slots_(std::bit_ceil(static_cast<std::size_t>(pairs) * 2 + 16)), mask_(slots_.size() - 1) {}

  /// False when the pair is there already.
  bool insert(std::int32_t left, std::int32_t right, Merge merge) {
    const std::uint64_t wanted = key(left, right);
    std::size_t slot = place(wanted);
    while (slots_[slot].key != kEmpty) {
      if (slots_[slot].key == wanted) return false;
      slot = (slot + 1) & mask_;
    }
    slots_[slot] = {wanted, merge};
    return true;
  }

  /// kNoMerge where the pair is not there.
  Merge find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t wanted = key(left, right);
    for (std::size_t slot = place(wanted);; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == wanted) return slots_[slot].merge;
      if (slots_[slot].key == kEmpty) return {};
    }
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge;
  };

  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  /// Fibonacci hashing; the high half is the well mixed one.
  std::size_t place(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> 32) & mask_;
  }

  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace athanor
