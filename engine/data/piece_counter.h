// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/data/piece_key.h"

namespace athanor {

struct CountedPiece {
  std::string_view piece;
  std::int64_t count;
};

/// Counts how often each piece of a text occurs. Keeps views of the text.
class PieceCounter {
 public:
  PieceCounter() : slots_(1 << 12) {}

  /// `end` is that of the text the piece is in, which may be read up to there.
  void add(std::string_view piece, const char* end, std::int64_t count = 1) {
    if (2 * used_ >= slots_.size()) grow();
    const PieceKey key(piece, end);
    Slot& slot = slots_[place_of(piece, key)];
    if (slot.count == 0) {
      slot = {key, piece.data(), 0};
      ++used_;
    }
    slot.count += count;
  }

  std::vector<CountedPiece> pieces() const {
    std::vector<CountedPiece> all;
    all.reserve(used_);
    for (const Slot& slot : slots_) {
      if (slot.count > 0) all.push_back({slot.piece(), slot.count});
    }
    return all;
  }

 private:
  struct Slot {
    PieceKey key;
    const char* data = nullptr;
    std::int64_t count = 0;

    std::string_view piece() const { return {data, key.bytes()}; }
  };

  std::size_t place_of(std::string_view piece, const PieceKey& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = key.hash() & mask;
    while (slots_[at].count > 0 &&
           !(slots_[at].key == key && (key.is_whole() || slots_[at].piece() == piece))) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void grow() {
    const std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(old.size() * 2);
    for (const Slot& slot : old) {
      if (slot.count > 0) slots_[place_of(slot.piece(), slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace athanor
