// SPDX-License-Identifier: GPL-3.0-or-later

/// Stored weights on their way to the numbers that a step goes on from, and back. Compiled once for
/// each instruction set.
#if defined(ATHANOR_STORED_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_STORED_WEIGHTS_INL_H
#undef ATHANOR_STORED_WEIGHTS_INL_H
#else
#define ATHANOR_STORED_WEIGHTS_INL_H
#endif

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/philox-inl.h"
#include "engine/backend/operations.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

/// A weight and its lower half are kept together as the 32 bits of one number. Rounding carried
/// into the upper half when the lower one's highest bit is set; half-way goes away from zero, so
/// that this bit alone tells.
HWY_INLINE WordVector joined(WordVector weight, WordVector low) {
  const WordVector upper = hn::Sub(weight, hn::ShiftRight<15>(low));
  return hn::Or(hn::ShiftLeft<16>(upper), low);
}

HWY_INLINE HalfVector nearest_away_from_zero(FloatVector number) {
  return upper_halves(number, hn::Set(WordTag(), std::uint32_t{0x8000}));
}

/// Up to a vector of halves, whatever they stand for; zeros beyond `count`.
template <class Half>
HWY_INLINE HalfVector load_halves(const Half* from, std::int64_t count) {
  static_assert(sizeof(Half) == sizeof(std::uint16_t));
  if (count >= kLanes) return hn::LoadU(HalfTag(), reinterpret_cast<const std::uint16_t*>(from));
  HWY_ALIGN std::uint16_t lanes[kLanes] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(Half));
  return hn::Load(HalfTag(), lanes);
}

template <class Half>
HWY_INLINE void keep_halves(HalfVector halves, std::int64_t count, Half* to) {
  static_assert(sizeof(Half) == sizeof(std::uint16_t));
  if (count >= kLanes) {
    hn::StoreU(halves, HalfTag(), reinterpret_cast<std::uint16_t*>(to));
    return;
  }
  HWY_ALIGN std::uint16_t lanes[kLanes];
  hn::Store(halves, HalfTag(), lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(Half));
}

/// Numbers [first, first + count) of weights that are f32 or have a master: those themselves. Of
/// others made in `scratch`, whose room ends on whole vectors.
inline float* numbers_of(const StoredWeights& to, std::int64_t first, std::int64_t count,
                         float* scratch) {
  if (to.weights.dtype == DType::f32) return to.weights.as<float>() + first;
  if (to.master.present()) return to.master.as<float>() + first;
  const Bf16* weights = to.weights.as<Bf16>() + first;
  if (!to.low_bits.present()) {
    to_floats(weights, count, scratch);
    return scratch;
  }
  const std::uint16_t* low_bits = to.low_bits.as<std::uint16_t>() + first;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const WordVector weight = hn::PromoteTo(WordTag(), load_halves(weights + i, count - i));
    const WordVector low = hn::PromoteTo(WordTag(), load_halves(low_bits + i, count - i));
    hn::StoreU(hn::BitCast(kFloat, joined(weight, low)), kFloat, scratch + i);
  }
  return scratch;
}

inline void keep_with_low_bits(const StoredWeights& to, std::int64_t first, std::int64_t count,
                               const float* numbers) {
  const WordTag word;
  Bf16* weights = to.weights.as<Bf16>() + first;
  std::uint16_t* low_bits = to.low_bits.as<std::uint16_t>() + first;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const FloatVector number = load_up_to(numbers + i, count - i);
    const WordVector low = hn::And(hn::BitCast(word, number), hn::Set(word, 0xFFFF));
    // What is no number was not rounded, so nothing may say that it was.
    const auto no_number = hn::RebindMask(word, hn::IsNaN(number));
    keep_halves(nearest_away_from_zero(number), count - i, weights + i);
    keep_halves(hn::TruncateTo(HalfTag(), hn::IfThenZeroElse(no_number, low)), count - i,
                low_bits + i);
  }
}

inline void keep_at_random(const StoredWeights& to, const WeightRounding& at, std::int64_t first,
                           std::int64_t count, const float* numbers) {
  constexpr std::int64_t kWords = 4 * kLanes;
  const WordTag word;
  Bf16* weights = to.weights.as<Bf16>() + first;
  HWY_ALIGN std::uint32_t words[kWords];
  for (std::int64_t i = 0; i < count; i += kLanes) {
    if (i % kWords == 0) {
      philox_words(at.seed, at.stream, static_cast<std::uint64_t>(first + i) / 4, words);
    }
    const WordVector cut = hn::And(hn::Load(word, words + i % kWords), hn::Set(word, 0xFFFF));
    keep_halves(upper_halves(load_up_to(numbers + i, count - i), cut), count - i, weights + i);
  }
}

/// Stores what numbers_of gave, after the step. `first` is a multiple of 4.
inline void keep_numbers(const StoredWeights& to, const WeightRounding& at, std::int64_t first,
                         std::int64_t count, const float* numbers) {
  if (to.weights.dtype == DType::f32) return;
  if (to.low_bits.present()) {
    keep_with_low_bits(to, first, count, numbers);
  } else if (to.master.present()) {
    Bf16* weights = to.weights.as<Bf16>() + first;
    for (std::int64_t i = 0; i < count; i += kLanes) {
      const FloatVector number = load_up_to(numbers + i, count - i);
      keep_halves(nearest_away_from_zero(number), count - i, weights + i);
    }
  } else {
    keep_at_random(to, at, first, count, numbers);
  }
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
