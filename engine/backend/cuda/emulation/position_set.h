// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <bit>
#include <cstdint>

namespace athanor::cuda::emulation {

/// A set of places in the order of a block's threads.
class PositionSet {
 public:
  static constexpr int kMost = 1024;

  /// All of 0 … count − 1.
  void fill(int count) {
    words_in_use_ = (count + 63) / 64;
    for (int word = 0; word < words_in_use_; ++word)
      words_[word] = ~std::uint64_t{0};
    if (count % 64 != 0) words_[words_in_use_ - 1] = (std::uint64_t{1} << (count % 64)) - 1;
  }
  void insert(int position) { words_[position / 64] |= std::uint64_t{1} << (position % 64); }
  void erase(int position) { words_[position / 64] &= ~(std::uint64_t{1} << (position % 64)); }
  bool contains(int position) const { return (words_[position / 64] >> (position % 64) & 1) != 0; }

  /// The next one after `position`, round to `position` itself; −1 of an empty set.
  int next_after(int position) const {
    const int first = position / 64;
    const std::uint64_t later = words_[first] & (~std::uint64_t{1} << (position % 64));
    if (later != 0) return first * 64 + std::countr_zero(later);
    for (int step = 1; step <= words_in_use_; ++step) {
      const int word = (first + step) % words_in_use_;
      if (words_[word] != 0) return word * 64 + std::countr_zero(words_[word]);
    }
    return -1;
  }

 private:
  std::uint64_t words_[kMost / 64] = {};
  int words_in_use_ = 0;
};

}  // namespace athanor::cuda::emulation
