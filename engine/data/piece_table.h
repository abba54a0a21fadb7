// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/piece_key.h"

namespace athanor {

/// Pieces of text → ids, an open-addressing hash table.
class PieceTable {
 public:
  /// Sized once for `pieces`.
  explicit PieceTable(std::size_t pieces)
      : slots_(std::bit_ceil(pieces * 2 + 16)), mask_(slots_.size() - 1) {}

  /// Keeps a view of `piece`. False when it is there already.
  bool insert(std::string_view piece, std::int32_t id) {
    const PieceKey key(piece);
    std::size_t slot = key.hash() & mask_;
    for (; slots_[slot].id >= 0; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key && (key.is_whole() || pieces_of(slot) == piece)) return false;
    }
    slots_[slot] = {key, id, static_cast<std::int32_t>(long_pieces_.size())};
    if (!key.is_whole()) long_pieces_.push_back(piece);
    return true;
  }

  /// -1 when it is not there.
  std::int32_t find(std::string_view piece) const { return find(piece, PieceKey(piece)); }
  std::int32_t find(std::string_view piece, const PieceKey& key) const {
    for (std::size_t slot = key.hash() & mask_; slots_[slot].id >= 0; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key && (key.is_whole() || pieces_of(slot) == piece)) {
        return slots_[slot].id;
      }
    }
    return -1;
  }

 private:
  struct Slot {
    PieceKey key;
    std::int32_t id = -1;
    std::int32_t place = 0;  ///< of a long piece
  };
  std::string_view pieces_of(std::size_t slot) const {
    return long_pieces_[static_cast<std::size_t>(slots_[slot].place)];
  }

  std::vector<Slot> slots_;
  std::vector<std::string_view> long_pieces_;
  std::size_t mask_;
};

/// The ids of pieces seen lately; each has one place, and the last one there stays.
class PieceCache {
 public:
  PieceCache() : slots_(kSlots) {}

  /// Empty when the piece is not there.
  std::span<const std::int32_t> find(std::string_view piece, const PieceKey& key) const {
    const Slot& slot = slots_[key.hash() % kSlots];
    if (slot.key != key) return {};
    if (!key.is_whole() && std::string_view(slot.bytes.data(), piece.size()) != piece) return {};
    return std::span(slot.ids).first(static_cast<std::size_t>(slot.count));
  }

  /// Does nothing for a piece or ids too long to keep.
  void insert(std::string_view piece, const PieceKey& key, std::span<const std::int32_t> ids) {
    if (piece.size() > kLongest_bytes || ids.size() > kMostIds) return;
    Slot& slot = slots_[key.hash() % kSlots];
    slot.key = key;
    std::ranges::copy(piece, slot.bytes.begin());
    std::ranges::copy(ids, slot.ids.begin());
    slot.count = static_cast<std::int32_t>(ids.size());
  }

 private:
  static constexpr std::size_t kSlots = 1 << 14;
  static constexpr std::size_t kLongest_bytes = 48;
  static constexpr std::size_t kMostIds = 15;

  struct Slot {
    PieceKey key;
    std::array<char, kLongest_bytes> bytes;
    std::int32_t count = 0;
    std::array<std::int32_t, kMostIds> ids;
  };

  std::vector<Slot> slots_;
};

}  // namespace athanor
