// SPDX-License-Identifier: GPL-3.0-or-later

/// bf16 on its way to and from vectors of floats, by the names that floats have, so that one kernel
/// serves both. Compiled once for each instruction set.
#if defined(ATHANOR_BF16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_BF16_INL_H
#undef ATHANOR_BF16_INL_H
#else
#define ATHANOR_BF16_INL_H
#endif

#include <cstring>
#include <type_traits>

#include "engine/backend/cpu/reals.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;
using HalfVector = hn::Vec<HalfTag>;

HWY_INLINE FloatVector widen(HalfVector halves) {
  return hn::BitCast(kFloat, hn::ShiftLeft<16>(hn::PromoteTo(WordTag(), halves)));
}

/// The upper halves of the floats' bits after `increment` was added to them, which rounds; what is
/// no number stays none.
HWY_INLINE HalfVector upper_halves(FloatVector v, WordVector increment) {
  const WordTag word;
  const WordVector bits = hn::BitCast(word, v);
  const WordVector rounded = hn::ShiftRight<16>(hn::Add(bits, increment));
  const WordVector quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(word, 0x40));
  const auto no_number = hn::RebindMask(word, hn::IsNaN(v));
  return hn::TruncateTo(HalfTag(), hn::IfThenElse(no_number, quiet, rounded));
}

/// The nearest, of two equally near the even one.
HWY_INLINE HalfVector nearest_halves(FloatVector v) {
  const WordTag word;
  const WordVector odd =
      hn::And(hn::ShiftRight<16>(hn::BitCast(word, v)), hn::Set(word, std::uint32_t{1}));
  return upper_halves(v, hn::Add(odd, hn::Set(word, std::uint32_t{0x7FFF})));
}

HWY_INLINE FloatVector load(const Bf16* from) {
  return widen(hn::LoadU(HalfTag(), &from->bits));
}

HWY_INLINE void store(FloatVector v, Bf16* to) {
  hn::StoreU(nearest_halves(v), HalfTag(), &to->bits);
}

HWY_INLINE FloatVector load_first(const Bf16* from, std::int64_t count) {
  HWY_ALIGN std::uint16_t lanes[kLanes] = {};
  for (std::int64_t i = 0; i < count; ++i)
    lanes[i] = from[i].bits;
  return widen(hn::Load(HalfTag(), lanes));
}

HWY_INLINE void store_first(FloatVector v, Bf16* to, std::int64_t count) {
  HWY_ALIGN std::uint16_t lanes[kLanes];
  hn::Store(nearest_halves(v), HalfTag(), lanes);
  for (std::int64_t i = 0; i < count; ++i)
    to[i].bits = lanes[i];
}

HWY_INLINE FloatVector load_up_to(const Bf16* from, std::int64_t count) {
  return count >= kLanes ? load(from) : load_first(from, count);
}

HWY_INLINE void store_up_to(FloatVector v, Bf16* to, std::int64_t count) {
  if (count >= kLanes) {
    store(v, to);
  } else {
    store_first(v, to, count);
  }
}

HWY_INLINE float get(const float* from) {
  return *from;
}
HWY_INLINE float get(const Bf16* from) {
  return widened(*from);
}
HWY_INLINE void put(float value, float* to) {
  *to = value;
}
HWY_INLINE void put(float value, Bf16* to) {
  *to = nearest_bf16(value);
}

/// What a reader of stored T will see of `v`.
template <class T>
HWY_INLINE FloatVector as_stored(FloatVector v) {
  if constexpr (std::is_same_v<T, Bf16>) return widen(nearest_halves(v));
  return v;
}

/// Reads or writes `count` numbers with conversion.
inline void to_floats(const Bf16* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; i += kLanes)
    store_up_to(load_up_to(from + i, count - i), to + i, count - i);
}
inline void from_floats(const float* from, std::int64_t count, Bf16* to) {
  for (std::int64_t i = 0; i < count; i += kLanes)
    store_up_to(load_up_to(from + i, count - i), to + i, count - i);
}

/// `count` numbers as floats: where they lie if they are, else widened into `scratch`.
HWY_INLINE const float* floats_of(const float* from, std::int64_t, float*) {
  return from;
}
HWY_INLINE const float* floats_of(const Bf16* from, std::int64_t count, float* scratch) {
  to_floats(from, count, scratch);
  return scratch;
}
HWY_INLINE const float* floats_of(const Reals& from, std::int64_t count, float* scratch) {
  if (!from.halves()) return from.as<float>();
  return floats_of(from.as<Bf16>(), count, scratch);
}

/// Rows of floats, `stride` apart.
struct FloatRows {
  const float* data;
  std::int64_t stride;
};

/// `rows` rows as floats: where they lie, else widened into `scratch`, next to each other.
inline FloatRows float_rows(const Reals& from, std::int64_t stride, std::int64_t rows,
                            std::int64_t width, float* scratch) {
  if (!from.halves()) return {from.as<float>(), stride};
  for (std::int64_t row = 0; row < rows; ++row)
    to_floats(from.as<Bf16>() + row * stride, width, scratch + row * width);
  return {scratch, width};
}

/// Copies `count` numbers, of either type to either.
inline void copy_reals(const Reals& from, const Reals& to, std::int64_t count) {
  if (from.type == to.type) {
    std::memcpy(to.data, from.data, static_cast<std::size_t>(count * size_of(to.type)));
  } else if (to.halves()) {
    from_floats(from.as<float>(), count, to.as<Bf16>());
  } else {
    to_floats(from.as<Bf16>(), count, to.as<float>());
  }
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
