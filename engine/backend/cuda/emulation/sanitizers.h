// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

/// What the sanitizers must be told of memory and of stacks. Without them nothing is done.
/// The build defines ATHANOR_EMULATION_TSAN: the emulation itself is not watched by
/// ThreadSanitizer, so that a race it reports is one of the kernel's threads.

#if defined(__SANITIZE_ADDRESS__)
#define ATHANOR_EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATHANOR_EMULATION_ASAN 1
#endif
#endif

#ifdef ATHANOR_EMULATION_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef ATHANOR_EMULATION_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" {
void __tsan_read_range(void* address, unsigned long bytes);
void __tsan_write_range(void* address, unsigned long bytes);
}
#endif

#include <cstddef>

namespace athanor::cuda::emulation {

#ifdef ATHANOR_EMULATION_ASAN
inline constexpr bool kAddress_sanitizer = true;
inline void forbid_access(const void* begin, std::size_t bytes) {
  __asan_poison_memory_region(begin, bytes);
}
inline void allow_access(const void* begin, std::size_t bytes) {
  __asan_unpoison_memory_region(begin, bytes);
}
#else
inline constexpr bool kAddress_sanitizer = false;
inline void forbid_access(const void*, std::size_t) {}
inline void allow_access(const void*, std::size_t) {}
#endif

#ifdef ATHANOR_EMULATION_TSAN
inline constexpr bool kThread_sanitizer = true;
/// What was done before release(at) has happened for whoever calls acquire(at) after.
inline void release(void* at) {
  __tsan_release(at);
}
inline void acquire(void* at) {
  __tsan_acquire(at);
}
/// The running thread reads or writes memory of the kernel's through a built-in.
inline void note_read(const void* address, std::size_t bytes) {
  __tsan_read_range(const_cast<void*>(address), bytes);
}
inline void note_write(void* address, std::size_t bytes) {
  __tsan_write_range(address, bytes);
}
#else
inline constexpr bool kThread_sanitizer = false;
inline void release(void*) {}
inline void acquire(void*) {}
inline void note_read(const void*, std::size_t) {}
inline void note_write(void*, std::size_t) {}
#endif

}  // namespace athanor::cuda::emulation
