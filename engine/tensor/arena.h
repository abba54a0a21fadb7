// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/tensor/buffer.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// What memory is used for; the rows of the memory plan.
enum class MemoryRole { weights, gradients, optimizer, activations, logits, workspace, batch };
inline constexpr int kMemoryRoles = 7;
std::string_view name_of(MemoryRole role);

/// Memory handed out like a stack: take() from the top, rewind() to a mark. The same code runs
/// once over a recording arena, which has no memory and notes the highest top, and then over one
/// that owns exactly that many bytes: planned bytes equal allocated bytes by construction.
class Arena {
 public:
  /// Each tensor starts on its own cache line, and vectors of any width load aligned.
  static constexpr std::int64_t kAlignment_bytes = 64;

  /// Peak bytes by role at the moment of the highest top.
  struct Plan {
    std::int64_t peak_bytes = 0;
    std::int64_t by_role[kMemoryRoles] = {};
    std::int64_t of(MemoryRole role) const { return by_role[static_cast<int>(role)]; }
  };

  /// Records only: tensors have shapes and no data.
  Arena() { pieces_.reserve(kReserved_pieces); }
  /// Owns `bytes` bytes; a take() beyond them throws internal, since the plan was wrong.
  explicit Arena(std::int64_t bytes) : buffer_(bytes) { pieces_.reserve(kReserved_pieces); }

  Tensor take(MemoryRole role, DType dtype, Shape shape);

  using Mark = std::int64_t;
  Mark mark() const { return top_bytes_; }
  /// Gives back everything taken since `mark`.
  void rewind(Mark mark);

  const Plan& plan() const { return plan_; }
  bool recording() const { return buffer_.data() == nullptr; }
  std::int64_t allocated_bytes() const { return buffer_.bytes(); }

 private:
  static constexpr int kReserved_pieces = 4096;

  struct Piece {
    std::int64_t offset_bytes;
    std::int64_t size_bytes;
    MemoryRole role;
  };

  Buffer buffer_;
  std::vector<Piece> pieces_;
  std::int64_t top_bytes_ = 0;
  std::int64_t now_by_role_[kMemoryRoles] = {};
  Plan plan_;
};

/// Rewinds an arena when it goes out of scope.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.rewind(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  Arena::Mark mark_;
};

}  // namespace athanor
