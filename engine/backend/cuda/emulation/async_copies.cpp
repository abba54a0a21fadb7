// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/async_copies.h"

#include <cstring>

#include "engine/backend/cuda/emulation/sanitizers.h"
#include "engine/backend/cuda/emulation/shared_memory.h"

namespace athanor::cuda::emulation {
namespace {

std::array<std::byte, AsyncCopies::kCopy_bytes> poison() {
  std::array<std::byte, AsyncCopies::kCopy_bytes> bytes{};
  bytes.fill(std::byte{SharedMemory::kPoison});
  return bytes;
}

}  // namespace

void AsyncCopies::begin(void* shared, const void* global, const CallSite& site) {
  Copy copy{.shared = shared, .content = {}, .group = group_, .site = site};
  if (global != nullptr) {
    note_read(global, kCopy_bytes);
    std::memcpy(copy.content.data(), global, kCopy_bytes);
  }
  note_write(shared, kCopy_bytes);
  std::memcpy(shared, poison().data(), kCopy_bytes);
  copies_.push_back(copy);
}

const CallSite* AsyncCopies::wait(int pending) {
  const CallSite* damaged = nullptr;
  std::size_t landed = 0;
  for (; landed < copies_.size() && copies_[landed].group < group_ - pending; ++landed) {
    const Copy& copy = copies_[landed];
    if (damaged == nullptr && std::memcmp(copy.shared, poison().data(), kCopy_bytes) != 0) {
      damaged_ = copy.site;
      damaged = &damaged_;
    }
    note_write(copy.shared, kCopy_bytes);
    std::memcpy(copy.shared, copy.content.data(), kCopy_bytes);
  }
  copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(landed));
  return damaged;
}

}  // namespace athanor::cuda::emulation
