// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/tensor/arena.h"

#include <algorithm>
#include <array>

#include "engine/base/error.h"

namespace athanor {

std::string_view name_of(MemoryRole role) {
  static constexpr std::array<std::string_view, kMemoryRoles> names = {
      "weights", "gradients", "optimizer", "activations", "logits", "workspace", "batch"};
  return names[static_cast<std::size_t>(role)];
}

Tensor Arena::take(MemoryRole role, DType dtype, Shape shape) {
  const std::int64_t needed_bytes = shape.elements() * size_of(dtype);
  const std::int64_t size_bytes =
      (needed_bytes + kAlignment_bytes - 1) / kAlignment_bytes * kAlignment_bytes;
  if (!recording() && top_bytes_ + size_bytes > buffer_.bytes()) {
    throw Error(ErrorKind::internal, "A step needed more memory than was planned for it.",
                std::string(name_of(role)) + " " + shape.text());
  }
  Tensor tensor{recording() ? nullptr : buffer_.data() + top_bytes_, dtype, shape};
  // Capacity grows during the first step only; every later step repeats the same takes.
  pieces_.push_back({top_bytes_, size_bytes, role});
  top_bytes_ += size_bytes;
  now_by_role_[static_cast<int>(role)] += size_bytes;
  if (top_bytes_ > plan_.peak_bytes) {
    plan_.peak_bytes = top_bytes_;
    std::copy(std::begin(now_by_role_), std::end(now_by_role_), std::begin(plan_.by_role));
  }
  return tensor;
}

void Arena::rewind(Mark mark) {
  while (!pieces_.empty() && pieces_.back().offset_bytes >= mark) {
    now_by_role_[static_cast<int>(pieces_.back().role)] -= pieces_.back().size_bytes;
    pieces_.pop_back();
  }
  top_bytes_ = mark;
}

}  // namespace athanor
