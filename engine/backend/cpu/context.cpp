// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/context.h"

#include <algorithm>

namespace athanor::cpu {

namespace {
constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));
}  // namespace

Context::Context(int threads)
    : pool_(threads),
      pack_(kPackFloats * kFloatBytes),
      task_scratch_(kTaskFloats * kFloatBytes * pool_.threads()),
      taken_(std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(pool_.threads()))) {
  // Touched now, scratch is part of what the process takes before a run, however large its
  // products.
  for (const Buffer* buffer : {&pack_, &task_scratch_})
    std::fill_n(buffer->data(), buffer->bytes(), std::byte{0});
}

int Context::take_slot() {
  // A thread asks first for the slot it had last: its caches still hold that one.
  thread_local int preferred = 0;
  const int slots = pool_.threads();
  for (int slot = preferred % slots;; slot = (slot + 1) % slots) {
    if (!taken_[static_cast<std::size_t>(slot)].exchange(true, std::memory_order_acquire)) {
      preferred = slot;
      return slot;
    }
  }
}

Context::TaskScratch::TaskScratch(Context& context)
    : context_(context), slot_(context.take_slot()) {}

Context::TaskScratch::~TaskScratch() {
  context_.taken_[static_cast<std::size_t>(slot_)].store(false, std::memory_order_release);
}

float* Context::TaskScratch::data() const {
  return reinterpret_cast<float*>(context_.task_scratch_.data()) + slot_ * kTaskFloats;
}

}  // namespace athanor::cpu
