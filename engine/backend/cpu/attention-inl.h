// SPDX-License-Identifier: GPL-3.0-or-later

/// What attention's two directions share: tiles of queries × keys held with the queries along the
/// vectors, so that a row's maximum and sum need no reduction across lanes and only the queries are
/// transposed. Compiled once for each instruction set.
#if defined(ATHANOR_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ATHANOR_ATTENTION_INL_H
#undef ATHANOR_ATTENTION_INL_H
#else
#define ATHANOR_ATTENTION_INL_H
#endif

#include "engine/backend/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

/// Queries of a tile: its lanes.
inline constexpr std::int64_t kQueries = kTileColumns;
/// Keys of a tile; two such tiles of scores fit the first cache beside the queries.
inline constexpr std::int64_t kKeys = 96;
inline constexpr std::int64_t kMaxHeadDim = 256;
inline constexpr std::int64_t kHeadFloats = kMaxHeadDim * kQueries;
inline constexpr std::int64_t kScoreFloats = kKeys * kQueries;

/// Positions that the lanes' queries stand at and see from, as floats (exact below 2^24).
struct Lanes {
  FloatVector position[kTileVectors];
  FloatVector start[kTileVectors];
  std::int64_t first_key;     ///< the earliest start
  std::int64_t masked_below;  ///< keys before it are hidden from some lane
  std::int64_t masked_above;  ///< keys after it are hidden from some lane
  std::int64_t last_key;      ///< one past what the last lane sees
};

/// The lanes of `count` queries, the first at `position`; `starts` null: all see from 0.
HWY_INLINE Lanes make_lanes(std::int64_t position, std::int64_t count, const std::int32_t* starts) {
  HWY_ALIGN float start[kQueries] = {};
  Lanes lanes;
  lanes.first_key = starts == nullptr ? 0 : position;
  lanes.masked_below = 0;
  lanes.masked_above = position;
  lanes.last_key = position + count;
  for (std::int64_t i = 0; starts != nullptr && i < count; ++i) {
    start[i] = static_cast<float>(starts[i]);
    lanes.first_key = std::min<std::int64_t>(lanes.first_key, starts[i]);
    lanes.masked_below = std::max<std::int64_t>(lanes.masked_below, starts[i]);
  }
  for (int j = 0; j < kTileVectors; ++j) {
    lanes.start[j] = hn::Load(kFloat, start + j * kLanes);
    lanes.position[j] = hn::Iota(kFloat, static_cast<float>(position + j * kLanes));
  }
  return lanes;
}

/// Whether `key` is hidden from each of the lanes of vector j.
HWY_INLINE auto hidden(const Lanes& lanes, int j, std::int64_t key) {
  const FloatVector place = set(static_cast<float>(key));
  return hn::Or(hn::Gt(place, lanes.position[j]), hn::Lt(place, lanes.start[j]));
}

HWY_INLINE bool any_hidden(const Lanes& lanes, std::int64_t key) {
  return key > lanes.masked_above || key < lanes.masked_below;
}

/// to[key][query] = Σ_d rows[key][d] · columns[d][query]: scores, or their gradients.
HWY_INLINE void keys_by_queries(const float* rows, std::int64_t stride, std::int64_t keys,
                                const float* columns, std::int64_t head_dim, float* to) {
  for_row_panels(keys, [&](std::int64_t key, auto height) HWY_ATTR {
    Tile<height, kTileVectors> tile;
    tile.clear();
    tile.add_product({rows + key * stride, stride, 1}, {columns, kQueries}, head_dim);
    tile.template store<false>(to + key * kQueries, kQueries, kQueries);
  });
}

/// to[d][query], `count` queries of `from`, times `scale`; lanes beyond them are zeros.
HWY_INLINE void gather_queries(const FloatRows& from, std::int64_t count, std::int64_t head_dim,
                               float scale, float* to) {
  if (count < kQueries) std::fill_n(to, head_dim * kQueries, 0.0F);
  transpose(from.data, from.stride, count, head_dim, to, kQueries);
  for (std::int64_t i = 0; i < head_dim * kQueries; i += kLanes) {
    hn::Store(hn::Mul(hn::Load(kFloat, to + i), set(scale)), kFloat, to + i);
  }
}

/// The way back, into rows of `to`; `scratch` has room for them as floats.
HWY_INLINE void scatter_queries(const float* from, std::int64_t count, std::int64_t head_dim,
                                const Reals& to, std::int64_t stride, float* scratch) {
  if (!to.halves()) {
    transpose(from, kQueries, head_dim, count, to.as<float>(), stride);
    return;
  }
  transpose(from, kQueries, head_dim, count, scratch, head_dim);
  for (std::int64_t i = 0; i < count; ++i)
    from_floats(scratch + i * head_dim, head_dim, to.as<Bf16>() + i * stride);
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
