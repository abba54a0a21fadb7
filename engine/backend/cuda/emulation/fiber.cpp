// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cuda/emulation/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace athanor::cuda::emulation {
namespace {

/// Only touched pages take memory; sanitized frames are larger.
constexpr std::size_t kStack_bytes =
    (kAddress_sanitizer || kThread_sanitizer) ? 512 * 1024 : 128 * 1024;
constexpr std::size_t kCache_line_bytes = 64;
constexpr int kColours = 48;

}  // namespace

Fiber::Fiber() {
#ifdef ATHANOR_EMULATION_TSAN
  tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(Entry entry, int number) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapping_bytes_ = kStack_bytes + page_bytes;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(mapping_, page_bytes, PROT_NONE) != 0) {
    munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
  char* const bottom = static_cast<char*>(mapping_) + page_bytes;
  stack_bottom_ = bottom;
  // Stacks that all begin at the same place of a page would share a few sets of the cache.
  stack_bytes_ = kStack_bytes - static_cast<std::size_t>(number % kColours) * kCache_line_bytes;
#ifdef ATHANOR_EMULATION_TSAN
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
#ifdef ATHANOR_EMULATION_USES_UCONTEXT
  getcontext(&context_);
  context_.uc_stack.ss_sp = bottom;
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
#else
  // What the switch pops: six registers and the entry; then a return address that ends the stack.
  constexpr int kKept_registers = 6;
  void** top = reinterpret_cast<void**>(bottom + stack_bytes_);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kKept_registers; ++i)
    *--top = nullptr;
  stack_pointer_ = static_cast<void*>(top);
#endif
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
#ifdef ATHANOR_EMULATION_TSAN
  __tsan_destroy_fiber(tsan_fiber_);
#endif
  // The frame that stands on it is never left, and the next owner of the pages may use them.
  allow_access(mapping_, mapping_bytes_);
  munmap(mapping_, mapping_bytes_);
}

}  // namespace athanor::cuda::emulation
