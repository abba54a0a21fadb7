// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor/buffer.h"
#include "engine/tensor/tensor.h"

namespace athanor {

/// What memory is used for; the rows of the memory plan.
enum class MemoryRole { weights, gradients, optimizer, activations, logits, workspace, batch };
inline constexpr int kMemoryRoles = 7;
constexpr std::array<std::string_view, kMemoryRoles> names_of(MemoryRole) {
  return {"weights", "gradients", "optimizer", "activations", "logits", "workspace", "batch"};
}
std::string_view name_of(MemoryRole role);

/// What a step is doing; the sections of the plan's timeline.
enum class Phase { set_up, forward, loss, backward, update, evaluation, sample };
inline constexpr int kPhases = 7;
constexpr std::array<std::string_view, kPhases> names_of(Phase) {
  return {"set_up", "forward", "loss", "backward", "update", "evaluation", "sample"};
}

/// "qkv of layer 3", without a string to allocate. `what` is a literal.
struct BufferName {
  const char* what = "";
  std::int64_t layer = -1;

  std::string text() const;
};

/// Memory handed out from both ends: take() for what stays while others come and go, borrow() for
/// what does not; each end is a stack. The same code runs once over a recording arena, which has no
/// memory and notes how high both stacks stand at most, and then over one that owns exactly that
/// many bytes: planned bytes equal allocated bytes by construction.
class Arena {
 public:
  /// Each tensor starts on its own cache line, and vectors of any width load aligned.
  static constexpr std::int64_t kAlignment_bytes = 64;

  /// One tensor of a recording. Moments count the takes and releases of all tensors.
  struct Record {
    BufferName name;
    MemoryRole role = MemoryRole::workspace;
    std::int64_t size_bytes = 0;
    bool borrowed = false;
    std::int64_t offset_bytes =
        0;  ///< from the low end, or, borrowed, of its end from the high end
    std::int64_t first_moment = 0;
    std::int64_t end_moment = 0;  ///< the first at which it is gone; 0: stays to the end
  };
  struct PhaseStart {
    Phase phase = Phase::set_up;
    std::int64_t moment = 0;
  };

  struct Plan {
    std::int64_t peak_bytes = 0;
    std::int64_t by_role[kMemoryRoles] = {};  ///< at the peak; their sum is the peak
    std::int64_t peak_moment = 0;
    Phase peak_phase = Phase::set_up;
    std::int64_t of(MemoryRole role) const { return by_role[static_cast<int>(role)]; }
  };

  /// Records only: tensors have shapes and no data.
  Arena() { reserve(); }
  /// Owns `bytes` bytes; a take() or borrow() beyond them throws internal: the plan was wrong.
  explicit Arena(std::int64_t bytes) : Arena(Buffer(bytes)) {}
  explicit Arena(Buffer buffer) : buffer_(std::move(buffer)) { reserve(); }
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Tensor take(MemoryRole role, DType dtype, Shape shape, BufferName name = {});
  Tensor borrow(MemoryRole role, DType dtype, Shape shape, BufferName name = {});

  /// How high both ends stand.
  struct Mark {
    std::int64_t low_bytes = 0;
    std::int64_t high_bytes = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  Mark mark() const { return {low_.bytes, high_.bytes}; }
  /// Gives back everything taken and borrowed since `mark`.
  void rewind(const Mark& mark);
  /// One end alone.
  void rewind_taken(const Mark& mark);
  void rewind_borrowed(const Mark& mark);

  /// What follows belongs to `phase`.
  void begin(Phase phase);

  const Plan& plan() const { return plan_; }
  bool recording() const { return buffer_.data() == nullptr; }
  std::int64_t allocated_bytes() const { return buffer_.bytes(); }
  /// Whether the tensor's numbers lie here.
  bool holds(const Tensor& tensor) const {
    return tensor.data >= buffer_.data() && tensor.data < buffer_.data() + buffer_.bytes();
  }

  /// Of a recording arena; empty of others.
  const std::vector<Record>& records() const { return records_; }
  const std::vector<PhaseStart>& phases() const { return phases_; }
  std::int64_t moments() const { return moment_; }

 private:
  struct Piece {
    std::int64_t size_bytes;
    MemoryRole role;
    std::size_t record;
  };
  struct End {
    std::int64_t bytes = 0;
    std::vector<Piece> pieces;
  };

  void reserve();
  Tensor place(End& end, MemoryRole role, DType dtype, Shape shape, BufferName name);
  void give_back(End& end, std::int64_t down_to_bytes);
  std::byte* address(const End& end, std::int64_t size_bytes) const;

  Buffer buffer_;
  End low_;
  End high_;
  std::int64_t now_by_role_[kMemoryRoles] = {};
  std::int64_t moment_ = 0;
  Phase phase_ = Phase::set_up;
  std::vector<Record> records_;
  std::vector<PhaseStart> phases_;
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
