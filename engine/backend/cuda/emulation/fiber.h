// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>

#include "engine/backend/cuda/emulation/sanitizers.h"

#if !defined(__x86_64__) || defined(ATHANOR_EMULATION_UCONTEXT)
#define ATHANOR_EMULATION_USES_UCONTEXT 1
#include <ucontext.h>
#else
extern "C" void athanor_emulation_switch(void** save_stack_pointer, void* load_stack_pointer);
#endif

namespace athanor::cuda::emulation {

/// A stack and how far execution got on it. All fibers of a host thread stay on it.
class Fiber {
 public:
  using Entry = void (*)();

  /// The stack that the host thread runs on.
  Fiber();
  /// A stack of its own, below which a page must not be touched; `entry` never returns. Neighbours
  /// by `number` begin on different cache lines of a page.
  Fiber(Entry entry, int number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// From `from`, which is running, to where `to` stood; returns when another switches back.
  static void swap(Fiber& from, Fiber& to) {
#ifdef ATHANOR_EMULATION_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_bottom_, to.stack_bytes_);
    to.previous_ = &from;
#endif
#ifdef ATHANOR_EMULATION_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef ATHANOR_EMULATION_USES_UCONTEXT
    swapcontext(&from.context_, &to.context_);
#else
    athanor_emulation_switch(&from.stack_pointer_, to.stack_pointer_);
#endif
    from.arrive();
  }
  /// The first thing that an entry does.
  void arrive() {
#ifdef ATHANOR_EMULATION_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &previous_->stack_bottom_,
                                    &previous_->stack_bytes_);
#endif
  }

 private:
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
  void* stack_pointer_ = nullptr;
  void* fake_stack_ = nullptr;
  Fiber* previous_ = nullptr;
  void* tsan_fiber_ = nullptr;
#ifdef ATHANOR_EMULATION_USES_UCONTEXT
  ucontext_t context_ = {};
#endif
};

}  // namespace athanor::cuda::emulation
