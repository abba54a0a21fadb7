// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstring>

/// CUDA's atomic functions, which give the value of before. They order other memory too, which a
/// card's do not: a missing __threadfence is not found.
namespace athanor::cuda::emulation {

/// Stores change(before) unless another wrote meanwhile, until it succeeds.
template <class T, class Change>
T changed(T* address, const Change& change) {
  T before;
  T after;
  __atomic_load(address, &before, __ATOMIC_ACQUIRE);
  do {
    after = change(before);
  } while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE));
  return before;
}

template <class T>
T swapped_if(T* address, T expected, T wanted) {
  __atomic_compare_exchange(address, &expected, &wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
}

template <class T>
T exchanged(T* address, T wanted) {
  T before;
  __atomic_exchange(address, &wanted, &before, __ATOMIC_ACQ_REL);
  return before;
}

template <class T>
T raised(T* address, T least) {
  return changed(address, [least](T before) { return before < least ? least : before; });
}
template <class T>
T lowered(T* address, T most) {
  return changed(address, [most](T before) { return most < before ? most : before; });
}

}  // namespace athanor::cuda::emulation

inline int atomicAdd(int* address, int value) {
  return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
}
inline unsigned atomicAdd(unsigned* address, unsigned value) {
  return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
}
inline unsigned long long atomicAdd(unsigned long long* address, unsigned long long value) {
  return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
}
inline float atomicAdd(float* address, float value) {
  return athanor::cuda::emulation::changed(address,
                                           [value](float before) { return before + value; });
}

inline int atomicMax(int* address, int value) {
  return athanor::cuda::emulation::raised(address, value);
}
inline unsigned atomicMax(unsigned* address, unsigned value) {
  return athanor::cuda::emulation::raised(address, value);
}
inline unsigned long long atomicMax(unsigned long long* address, unsigned long long value) {
  return athanor::cuda::emulation::raised(address, value);
}

inline int atomicMin(int* address, int value) {
  return athanor::cuda::emulation::lowered(address, value);
}
inline unsigned atomicMin(unsigned* address, unsigned value) {
  return athanor::cuda::emulation::lowered(address, value);
}
inline unsigned long long atomicMin(unsigned long long* address, unsigned long long value) {
  return athanor::cuda::emulation::lowered(address, value);
}

inline int atomicCAS(int* address, int expected, int wanted) {
  return athanor::cuda::emulation::swapped_if(address, expected, wanted);
}
inline unsigned atomicCAS(unsigned* address, unsigned expected, unsigned wanted) {
  return athanor::cuda::emulation::swapped_if(address, expected, wanted);
}
inline unsigned long long atomicCAS(unsigned long long* address, unsigned long long expected,
                                    unsigned long long wanted) {
  return athanor::cuda::emulation::swapped_if(address, expected, wanted);
}

inline int atomicExch(int* address, int value) {
  return athanor::cuda::emulation::exchanged(address, value);
}
inline unsigned atomicExch(unsigned* address, unsigned value) {
  return athanor::cuda::emulation::exchanged(address, value);
}
inline unsigned long long atomicExch(unsigned long long* address, unsigned long long value) {
  return athanor::cuda::emulation::exchanged(address, value);
}
inline float atomicExch(float* address, float value) {
  return athanor::cuda::emulation::exchanged(address, value);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier): CUDA's own name
inline void __threadfence() {}
