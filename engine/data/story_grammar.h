// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/philox.h"

namespace athanor::story {

/// The random choices of one story.
class Choices {
 public:
  Choices(std::uint64_t seed, std::uint64_t story) : random_(seed, story) {}

  /// A number in [0, count).
  std::size_t number(std::size_t count) {
    return static_cast<std::size_t>(std::uint64_t{random_.word(used_++)} * count >> 32);
  }
  bool chance(int percent) { return number(100) < static_cast<std::size_t>(percent); }
  template <class T>
  const T& one_of(std::span<const T> items) {
    return items[number(items.size())];
  }
  /// Two different numbers in [0, count).
  std::pair<std::size_t, std::size_t> two_numbers(std::size_t count) {
    const std::size_t first = number(count);
    return {first, (first + 1 + number(count - 1)) % count};
  }

 private:
  Philox random_;
  std::uint64_t used_ = 0;
};

/// What the slots of a story stand for. A value may itself hold slots and alternatives.
class Slots {
 public:
  void set(std::string_view name, std::string value);
  /// Throws internal when a text names a slot that does not exist: a fault of the tables.
  const std::string& get(std::string_view name) const;

 private:
  std::vector<std::pair<std::string_view, std::string>> values_;
};

/// Replaces {slot} by its value and [one|two|three] by one of its parts, which may nest.
std::string expand(std::string_view text, const Slots& slots, Choices& choices);

/// Begins sentences and speech with a capital and writes "an" before a vowel.
std::string polish(std::string_view text);

}  // namespace athanor::story
