// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/shared_memory.h"

#include <cstdint>
#include <cstring>
#include <new>

#include "engine/backend/cuda/emulation/sanitizers.h"

namespace athanor::cuda::emulation {
namespace {

constexpr std::size_t kGuard_bytes = 256;
constexpr std::size_t kAlignment_bytes = 128;
/// What CUDA promises of a static variable that asks for nothing: a kernel must not need more.
constexpr std::size_t kVariable_alignment_bytes = 16;
constexpr std::size_t kMost_variables = 128;
constexpr std::size_t kStatic_slab_bytes =
    SharedMemory::kStatic_limit_bytes + kMost_variables * (kGuard_bytes + kAlignment_bytes);
/// No byte that a kernel is likely to write: neither poison nor part of a small number.
constexpr std::byte kGuard_byte{0xA5};

std::byte* allocated(std::size_t bytes) {
  return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kAlignment_bytes}));
}

/// Not memset, which ThreadSanitizer watches wherever it is called.
void fill(std::byte* begin, std::byte value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    begin[i] = value;
}

void set_guard(std::byte* begin) {
  allow_access(begin, kGuard_bytes);
  fill(begin, kGuard_byte, kGuard_bytes);
  forbid_access(begin, kGuard_bytes);
}

/// How many of the guard's bytes are no longer what they were.
std::size_t damaged_bytes(const std::byte* begin) {
  allow_access(begin, kGuard_bytes);
  std::uint64_t expected = 0;
  std::memset(&expected, static_cast<int>(kGuard_byte), sizeof(expected));
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < kGuard_bytes; i += sizeof(expected)) {
    std::uint64_t found = 0;
    std::memcpy(&found, begin + i, sizeof(found));
    if (found == expected) continue;
    for (std::size_t byte = i; byte < i + sizeof(expected); ++byte)
      damaged += begin[byte] != kGuard_byte ? 1 : 0;
  }
  return damaged;
}

}  // namespace

void SharedMemory::Freed::operator()(std::byte* memory) const {
  ::operator delete (memory, std::align_val_t{kAlignment_bytes});
}

SharedMemory::SharedMemory() : static_slab_(allocated(kStatic_slab_bytes)) {
  placed_.reserve(kMost_variables);
  forbid_access(static_slab_.get(), kStatic_slab_bytes);
}

SharedMemory::~SharedMemory() {
  allow_access(static_slab_.get(), kStatic_slab_bytes);
  if (dynamic_slab_ != nullptr) allow_access(dynamic_slab_.get(), dynamic_slab_bytes_);
}

void SharedMemory::set_sizes(std::size_t dynamic_bytes, std::size_t limit_bytes) {
  limit_bytes_ = limit_bytes;
  dynamic_bytes_ = dynamic_bytes;
  const std::size_t slab_bytes = dynamic_bytes + 2 * kGuard_bytes;
  if (slab_bytes > dynamic_slab_bytes_) {
    if (dynamic_slab_ != nullptr) allow_access(dynamic_slab_.get(), dynamic_slab_bytes_);
    dynamic_slab_.reset(allocated(slab_bytes));
    dynamic_slab_bytes_ = slab_bytes;
  }
  allow_access(dynamic_slab_.get(), dynamic_slab_bytes_);
  dynamic_ = dynamic_slab_.get() + kGuard_bytes;
}

void SharedMemory::begin_block() {
  static_assert(kGuard_bytes % kAlignment_bytes == 0);
  if (kAddress_sanitizer) forbid_access(static_slab_.get(), kStatic_slab_bytes);
  set_guard(static_slab_.get());
  free_ = static_slab_.get() + kGuard_bytes;
  placed_.clear();
  static_bytes_ = 0;
  allow_access(dynamic_, dynamic_bytes_);
  fill(dynamic_, std::byte{kPoison}, dynamic_bytes_);
  set_guard(dynamic_ - kGuard_bytes);
  set_guard(dynamic_ + dynamic_bytes_);
}

std::string SharedMemory::end_block() {
  std::string found;
  const auto look = [&found](const std::byte* guard, const std::string& where) {
    const std::size_t damaged = damaged_bytes(guard);
    if (damaged == 0 || !found.empty()) return;
    found = std::to_string(damaged) + " bytes were written " + where;
  };
  look(static_slab_.get(), "before its first shared variable");
  for (const Placed& placed : placed_) {
    const SharedVariable& variable = *placed.variable;
    look(placed.begin + variable.bytes, std::string("past the end of the shared variable \"") +
                                            variable.name + "\" (" + text_of(variable.site) + ")");
  }
  look(dynamic_ - kGuard_bytes, "before its dynamic shared memory");
  look(dynamic_ + dynamic_bytes_,
       "past the end of its dynamic shared memory of " + std::to_string(dynamic_bytes_) + " bytes");
  return found;
}

void* SharedMemory::variable(const SharedVariable& variable) {
  for (const Placed& placed : placed_) {
    if (placed.variable == &variable) return placed.begin;
  }
  if (!full(variable).empty()) return nullptr;
  std::byte* const begin = free_;
  allow_access(begin, variable.bytes);
  fill(begin, std::byte{kPoison}, variable.bytes);
  set_guard(begin + variable.bytes);
  placed_.push_back({&variable, begin});
  static_bytes_ += variable.bytes;
  const std::size_t taken = (variable.bytes + kGuard_bytes + kVariable_alignment_bytes - 1) /
                            kVariable_alignment_bytes * kVariable_alignment_bytes;
  free_ = begin + taken;
  return begin;
}

std::string SharedMemory::full(const SharedVariable& variable) const {
  const std::size_t wanted = static_bytes_ + variable.bytes;
  const std::string with = std::string("with \"") + variable.name + "\" the block has " +
                           std::to_string(wanted) + " bytes of static ";
  if (wanted > kStatic_limit_bytes) {
    return with + "shared memory; the limit is " + std::to_string(kStatic_limit_bytes);
  }
  if (wanted + dynamic_bytes_ > limit_bytes_) {
    return with + "and " + std::to_string(dynamic_bytes_) +
           " of dynamic shared memory; the limit is " + std::to_string(limit_bytes_);
  }
  if (placed_.size() == kMost_variables) return "a block has too many shared variables";
  return {};
}

bool SharedMemory::holds(const void* begin, std::size_t bytes) const {
  const auto inside = [&](const std::byte* from, std::size_t size) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    const auto low = reinterpret_cast<std::uintptr_t>(from);
    return first >= low && first + bytes <= low + size;
  };
  if (inside(dynamic_, dynamic_bytes_)) return true;
  for (const Placed& placed : placed_) {
    if (inside(placed.begin, placed.variable->bytes)) return true;
  }
  return false;
}

}  // namespace athanor::cuda::emulation
