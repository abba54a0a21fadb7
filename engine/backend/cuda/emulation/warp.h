// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/backend/cuda/emulation/call_site.h"
#include "engine/backend/cuda/emulation/shared_memory.h"

namespace athanor::cuda::emulation {

/// The functions behind CUDA's names, compiled once.
enum class Shuffle { indexed, down, up, crossed };
enum class Vote { ballot, any, all };

void shuffle(Shuffle kind, std::uint32_t mask, const void* in, void* out, std::size_t bytes, int by,
             int width, const CallSite& site);
std::uint32_t ballot(Vote kind, std::uint32_t mask, bool predicate, const CallSite& site);
std::uint32_t reduce_add(std::uint32_t mask, std::uint32_t value, const CallSite& site);
void sync_warp(std::uint32_t mask, const CallSite& site);
int sync_threads(const char* name, bool predicate, const CallSite& site);

template <class T>
T shuffled(Shuffle kind, std::uint32_t mask, T value, int by, int width, const CallSite& site) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "CUDA shuffles numbers of 4 or 8 bytes");
  T out;
  shuffle(kind, mask, &value, &out, sizeof(T), by, width, site);
  return out;
}

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names
inline void __syncthreads(CallSite site = CallSite::current()) {
  sync_threads("__syncthreads", false, site);
}
inline int __syncthreads_or(int predicate, CallSite site = CallSite::current()) {
  return sync_threads("__syncthreads_or", predicate != 0, site) != 0 ? 1 : 0;
}
inline int __syncthreads_count(int predicate, CallSite site = CallSite::current()) {
  return sync_threads("__syncthreads_count", predicate != 0, site);
}

inline void __syncwarp(unsigned mask = ~0U, CallSite site = CallSite::current()) {
  sync_warp(mask, site);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              CallSite site = CallSite::current()) {
  return shuffled(Shuffle::indexed, mask, value, source, width, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  CallSite site = CallSite::current()) {
  return shuffled(Shuffle::crossed, mask, value, lanes, width, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32,
                   CallSite site = CallSite::current()) {
  return shuffled(Shuffle::down, mask, value, static_cast<int>(lanes), width, site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32,
                 CallSite site = CallSite::current()) {
  return shuffled(Shuffle::up, mask, value, static_cast<int>(lanes), width, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, CallSite site = CallSite::current()) {
  return ballot(Vote::ballot, mask, predicate != 0, site);
}
inline int __any_sync(unsigned mask, int predicate, CallSite site = CallSite::current()) {
  return ballot(Vote::any, mask, predicate != 0, site) != 0 ? 1 : 0;
}
inline int __all_sync(unsigned mask, int predicate, CallSite site = CallSite::current()) {
  return ballot(Vote::all, mask, predicate != 0, site) == mask ? 1 : 0;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value,
                                  CallSite site = CallSite::current()) {
  return reduce_add(mask, value, site);
}
inline int __reduce_add_sync(unsigned mask, int value, CallSite site = CallSite::current()) {
  return static_cast<int>(reduce_add(mask, static_cast<unsigned>(value), site));
}
// NOLINTEND(bugprone-reserved-identifier)

void* shared_variable(const SharedVariable& variable);
void* dynamic_shared(const CallSite& site);

}  // namespace athanor::cuda::emulation

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names
using athanor::cuda::emulation::__all_sync;
using athanor::cuda::emulation::__any_sync;
using athanor::cuda::emulation::__ballot_sync;
using athanor::cuda::emulation::__reduce_add_sync;
using athanor::cuda::emulation::__shfl_down_sync;
using athanor::cuda::emulation::__shfl_sync;
using athanor::cuda::emulation::__shfl_up_sync;
using athanor::cuda::emulation::__shfl_xor_sync;
using athanor::cuda::emulation::__syncthreads;
using athanor::cuda::emulation::__syncthreads_count;
using athanor::cuda::emulation::__syncthreads_or;
using athanor::cuda::emulation::__syncwarp;
// NOLINTEND(bugprone-reserved-identifier)

// NOLINTBEGIN(bugprone-macro-parentheses): types and declarators cannot stand in them

/// ATHANOR_SHARED(float, parts, [32][8]); is memory that the threads of a block share.
#define ATHANOR_SHARED(type, name, extents)                                                \
  static_assert(std::is_trivially_copyable_v<type>);                                       \
  typedef type name##_as_declared extents;                                                 \
  static const ::athanor::cuda::emulation::SharedVariable name##_variable = {              \
      #name, sizeof(name##_as_declared), ::athanor::cuda::emulation::CallSite::current()}; \
  auto& name = *static_cast<name##_as_declared*>(                                          \
      ::athanor::cuda::emulation::shared_variable(name##_variable))

/// The dynamic shared memory that the launch asked for.
#define ATHANOR_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(   \
      ::athanor::cuda::emulation::dynamic_shared(::athanor::cuda::emulation::CallSite::current()))
// NOLINTEND(bugprone-macro-parentheses)
