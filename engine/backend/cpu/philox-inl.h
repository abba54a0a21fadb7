// SPDX-License-Identifier: GPL-3.0-or-later

/// The words of Philox (engine/base/philox.h) for many counters at a time. Compiled once for each
/// instruction set.
#if defined(ATHANOR_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_PHILOX_INL_H
#undef ATHANOR_PHILOX_INL_H
#else
#define ATHANOR_PHILOX_INL_H
#endif

#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

/// The two halves of 32 × 32-bit products.
struct WordProduct {
  WordVector high;
  WordVector low;
};

HWY_INLINE WordProduct multiply_words(WordVector a, std::uint32_t factor) {
  const WordTag d;
  const hn::Repartition<std::uint64_t, WordTag> wide;
  const WordVector b = hn::Set(d, factor);
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
}

/// Words of Philox blocks [first, first + kLanes), in the stream's order; the rounds are
/// Philox::block's.
HWY_INLINE void philox_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first,
                             std::uint32_t* words) {
  const WordTag d;
  const auto low_word = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const WordVector start = hn::Set(d, low_word(first));
  WordVector c0 = hn::Add(start, hn::Iota(d, 0));
  const WordVector carry = hn::VecFromMask(d, hn::Lt(c0, start));
  WordVector c1 = hn::Sub(hn::Set(d, low_word(first >> 32)), carry);
  WordVector c2 = hn::Set(d, low_word(stream));
  WordVector c3 = hn::Set(d, low_word(stream >> 32));
  std::uint32_t k0 = low_word(seed);
  std::uint32_t k1 = low_word(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const WordProduct p0 = multiply_words(c0, 0xD2511F53);
    const WordProduct p1 = multiply_words(c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
    c1 = p1.low;
    c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
    c3 = p0.low;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  hn::StoreInterleaved4(c0, c1, c2, c3, d, words);
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
