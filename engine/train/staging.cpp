// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/staging.h"

#include <cassert>

namespace athanor {

Staging::Staging(Backend& backend, Arena& arena, std::int64_t half_bytes) : backend_(backend) {
  if (half_bytes == 0) return;
  for (Half& half : halves_) {
    half.memory =
        arena.borrow(MemoryRole::workspace, DType::u8, {half_bytes}, {"copies from the host"});
  }
}

std::int64_t Staging::bytes_of(const Tensor& part) {
  constexpr std::int64_t kUnit = Arena::kAlignment_bytes;
  return part.present() ? (part.bytes() + kUnit - 1) / kUnit * kUnit : 0;
}

void Staging::begin(int half) {
  filling_ = half;
  Half& filled = halves_[static_cast<std::size_t>(half)];
  filled.used_bytes = 0;
  filled.changes = 0;
}

Tensor Staging::bring(const Tensor& part, bool changes) {
  if (!part.present()) return part;
  Half& half = halves_[static_cast<std::size_t>(filling_)];
  const Tensor room = half.memory.slice_rows(half.used_bytes, bytes_of(part));
  const Tensor staged{room.data, part.dtype, part.shape};
  half.used_bytes += bytes_of(part);
  backend_.run(FromHost{.host = part, .to = staged});
  if (changes) {
    assert(half.changes < kMost_parts);
    half.changed[half.changes++] = {staged, part};
  }
  return staged;
}

void Staging::take_back(int half) {
  const Half& worked = halves_[static_cast<std::size_t>(half)];
  for (std::size_t i = 0; i < worked.changes; ++i)
    backend_.run(ToHost{.from = worked.changed[i].staged, .host = worked.changed[i].host});
}

}  // namespace athanor
