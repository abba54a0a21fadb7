// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <math.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

/// CUDA's functions of numbers. Those that a card approximates are exact here.
namespace athanor::cuda::emulation {

inline float fast_exp(float x) {
  return std::exp(x);
}
inline float fast_log(float x) {
  return std::log(x);
}

/// What min() and max() of two numbers give: int for what is narrower, unsigned when one is.
template <class A, class B>
using Common = std::common_type_t<decltype(+A{}), decltype(+B{})>;

}  // namespace athanor::cuda::emulation

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names

// The C library declares these two for itself.
#define __expf ::athanor::cuda::emulation::fast_exp
#define __logf ::athanor::cuda::emulation::fast_log

template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto min(A a, B b) {
  using Result = athanor::cuda::emulation::Common<A, B>;
  if constexpr (std::is_floating_point_v<Result>) {
    return std::fmin(static_cast<Result>(a), static_cast<Result>(b));
  } else {
    const auto x = static_cast<Result>(a);
    const auto y = static_cast<Result>(b);
    return y < x ? y : x;
  }
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto max(A a, B b) {
  using Result = athanor::cuda::emulation::Common<A, B>;
  if constexpr (std::is_floating_point_v<Result>) {
    return std::fmax(static_cast<Result>(a), static_cast<Result>(b));
  } else {
    const auto x = static_cast<Result>(a);
    const auto y = static_cast<Result>(b);
    return x < y ? y : x;
  }
}

inline float rsqrtf(float x) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}

inline std::uint32_t __float_as_uint(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
inline float __uint_as_float(std::uint32_t x) {
  return std::bit_cast<float>(x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}

inline int __popc(unsigned x) {
  return std::popcount(x);
}
/// 1 more than the place of the lowest bit that is set; 0 of 0.
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}

/// c and the products of four signed bytes each, wrapping round.
inline int __dp4a(int a, int b, int c) {
  auto sum = static_cast<unsigned>(c);
  for (int i = 0; i < 4; ++i) {
    const auto x = static_cast<std::int8_t>(static_cast<unsigned>(a) >> (8 * i));
    const auto y = static_cast<std::int8_t>(static_cast<unsigned>(b) >> (8 * i));
    sum += static_cast<unsigned>(x * y);
  }
  return static_cast<int>(sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i)
    c += (a >> (8 * i) & 0xFF) * (b >> (8 * i) & 0xFF);
  return c;
}

template <class T>
T __ldg(const T* address) {
  return *address;
}
// NOLINTEND(bugprone-reserved-identifier)
