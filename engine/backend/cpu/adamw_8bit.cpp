// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"
#include "engine/backend/moment_codes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/adamw_8bit.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/adamw-inl.h"
#include "engine/backend/cpu/stored_weights-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

using CodeTag = hn::Rebind<std::uint8_t, FloatTag>;
using IndexTag = hn::RebindToSigned<FloatTag>;
using IndexVector = hn::Vec<IndexTag>;

static_assert(kMomentBlock % kLanes == 0, "a block is whole vectors");

/// The values of up to a vector of codes; 0 beyond `count`.
HWY_INLINE FloatVector decode(const std::uint8_t* codes, std::int64_t count, const MomentCodes& map,
                              float scale) {
  HWY_ALIGN std::uint8_t lanes[kLanes] = {};
  const std::int64_t present = std::min(count, kLanes);
  std::copy_n(codes, present, lanes);
  const IndexVector index = hn::PromoteTo(IndexTag(), hn::Load(CodeTag(), lanes));
  const FloatVector values = hn::Mul(hn::GatherIndex(kFloat, map.values.data(), index), set(scale));
  if (count >= kLanes) return values;
  return hn::IfThenElseZero(hn::FirstN(kFloat, static_cast<std::size_t>(count)), values);
}

/// The nearest code of each share, without a branch.
HWY_INLINE IndexVector nearest(FloatVector share, const MomentCodes& map) {
  const IndexTag integer;
  const IndexVector bits = hn::BitCast(integer, hn::Abs(share));
  const IndexVector bucket = hn::Clamp(hn::ShiftRight<MomentCodes::kBucket_shift>(bits),
                                       hn::Set(integer, MomentCodes::kFirst_bucket),
                                       hn::Set(integer, MomentCodes::kLast_bucket));
  const IndexVector first = hn::Sub(bucket, hn::Set(integer, MomentCodes::kFirst_bucket));
  const auto negative = hn::RebindMask(integer, hn::Lt(share, set(0)));
  const IndexVector side = hn::IfThenElseZero(negative, hn::Set(integer, MomentCodes::kBuckets));
  const IndexVector below = hn::GatherIndex(integer, map.bounds_below.data(), hn::Add(first, side));
  const FloatVector bound = hn::GatherIndex(kFloat, map.bounds.data(), below);
  const auto above = hn::RebindMask(integer, hn::Gt(share, bound));
  return hn::Add(below, hn::IfThenElseZero(above, hn::Set(integer, 1)));
}

HWY_INLINE void store_codes(IndexVector index, std::uint8_t* codes, std::int64_t count) {
  HWY_ALIGN std::uint8_t lanes[kLanes];
  hn::Store(hn::DemoteTo(CodeTag(), index), CodeTag(), lanes);
  std::copy_n(lanes, std::min(count, kLanes), codes);
}

float scale_of(FloatVector largest) {
  return std::clamp(hn::GetLane(hn::MaxOfLanes(kFloat, largest)), kLeast_moment_scale,
                    kMost_moment_scale);
}

/// The moments of one block on their way between codes and codes.
struct Block {
  HWY_ALIGN float m[kMomentBlock];
  HWY_ALIGN float v[kMomentBlock];
  /// Where weights and gradients are no floats.
  HWY_ALIGN float weights[kMomentBlock];
  HWY_ALIGN float gradients[kMomentBlock];
  float m_scale;
  float v_scale;
};

void update_weights(const AdamW8& op, const AdamWFactors& f, std::int64_t first, std::int64_t count,
                    Block& block) {
  float* weights = numbers_of(op.to, first, count, block.weights);
  const float* gradients = floats_of(Reals(op.gradients).from(first), count, block.gradients);
  const std::uint8_t* m_codes = op.m.as<std::uint8_t>() + first;
  const std::uint8_t* v_codes = op.v.as<std::uint8_t>() + first;
  const float m_scale = op.m_scale.as<float>()[first / kMomentBlock];
  const float v_scale = op.v_scale.as<float>()[first / kMomentBlock];
  const MomentCodes& m_map = signed_moment_codes();
  const MomentCodes& v_map = unsigned_moment_codes();
  FloatVector largest_m = set(0);
  FloatVector largest_v = set(0);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const std::int64_t left = count - i;
    FloatVector w = load_up_to(weights + i, left);
    FloatVector m = decode(m_codes + i, left, m_map, m_scale);
    FloatVector v = decode(v_codes + i, left, v_map, v_scale);
    adamw_step(f, load_up_to(gradients + i, left), w, m, v);
    store_up_to(w, weights + i, left);
    hn::Store(m, kFloat, block.m + i);
    hn::Store(v, kFloat, block.v + i);
    largest_m = hn::Max(largest_m, hn::Abs(m));
    largest_v = hn::Max(largest_v, v);
  }
  keep_numbers(op.to, op.at.rounding, first, count, weights);
  block.m_scale = scale_of(largest_m);
  block.v_scale = scale_of(largest_v);
}

void keep_moments(const AdamW8& op, std::int64_t first, std::int64_t count, const Block& block) {
  const IndexTag integer;
  const MomentCodes& m_map = signed_moment_codes();
  const MomentCodes& v_map = unsigned_moment_codes();
  std::uint8_t* m_codes = op.m.as<std::uint8_t>() + first;
  std::uint8_t* v_codes = op.v.as<std::uint8_t>() + first;
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const FloatVector m = hn::Div(hn::Load(kFloat, block.m + i), set(block.m_scale));
    const FloatVector v = hn::Div(hn::Load(kFloat, block.v + i), set(block.v_scale));
    // A v rounded to 0 beside an m that is not would make the next update m / ε.
    const auto positive = hn::RebindMask(integer, hn::Gt(v, set(0)));
    const IndexVector least = hn::IfThenElseZero(positive, hn::Set(integer, 1));
    store_codes(nearest(m, m_map), m_codes + i, count - i);
    store_codes(hn::Max(nearest(v, v_map), least), v_codes + i, count - i);
  }
  op.m_scale.as<float>()[first / kMomentBlock] = block.m_scale;
  op.v_scale.as<float>()[first / kMomentBlock] = block.v_scale;
}

}  // namespace

void adamw_8bit_for_target(Context& context, const AdamW8& op) {
  constexpr std::int64_t kElements = 64 * kMomentBlock;
  const AdamWFactors factors = adamw_factors(op.at);
  const std::int64_t count = op.to.weights.elements();
  context.pool().parallel_for((count + kElements - 1) / kElements, [&](std::int64_t task) {
    const std::int64_t end = std::min(count, (task + 1) * kElements);
    Block block;
    for (std::int64_t first = task * kElements; first < end; first += kMomentBlock) {
      const std::int64_t elements = std::min(kMomentBlock, end - first);
      update_weights(op, factors, first, elements, block);
      keep_moments(op, first, elements, block);
    }
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(adamw_8bit_for_target);

void adamw_8bit(Context& context, const AdamW8& op) {
  HWY_DYNAMIC_DISPATCH(adamw_8bit_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
