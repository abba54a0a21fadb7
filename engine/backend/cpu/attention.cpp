// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>
#include "engine/backend/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// One head of one sequence: `count` queries, the first at `position`, and the keys from position
/// 0.
struct HeadView {
  Reals queries;
  std::int64_t query_stride;
  Reals keys;
  Reals values;
  std::int64_t key_stride;
  const std::int32_t* starts;  ///< of the queries; null: all see from 0
  Reals out;
  std::int64_t out_stride;
  float* lse;  ///< may be null
  std::int64_t lse_stride;
  std::int64_t position;
  std::int64_t count;
  std::int64_t head_dim;
};

/// Running maximum and sum of exponentials of each lane's scores.
struct Softmax {
  FloatVector maximum[kTileVectors];
  FloatVector sum[kTileVectors];
};

/// Turns a tile of scores into exponentials below the new maxima; gives the factor that brings what
/// was summed before to them (Milakov and Gimelshein, "Online normalizer calculation for softmax",
/// 2018).
void exponentiate(const Lanes& lanes, std::int64_t first_key, std::int64_t keys, float* scores,
                  Softmax& softmax, FloatVector (&rescale)[kTileVectors]) {
  FloatVector maximum[kTileVectors];
  FloatVector sum[kTileVectors];
  std::copy_n(softmax.maximum, kTileVectors, maximum);
  for (std::int64_t key = 0; key < keys; ++key) {
    const bool masked = any_hidden(lanes, first_key + key);
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; ++j) {
      float* place = scores + key * kQueries + j * kLanes;
      FloatVector score = hn::Load(kFloat, place);
      if (masked) {
        score = hn::IfThenElse(hidden(lanes, j, first_key + key), set(-INFINITY), score);
        hn::Store(score, kFloat, place);
      }
      maximum[j] = hn::Max(maximum[j], score);
    }
  }
  for (int j = 0; j < kTileVectors; ++j) {
    rescale[j] = exp_nonpositive(hn::Sub(softmax.maximum[j], maximum[j]));
    softmax.maximum[j] = maximum[j];
    sum[j] = hn::Mul(softmax.sum[j], rescale[j]);
  }
  for (std::int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 2
    for (int j = 0; j < kTileVectors; ++j) {
      float* place = scores + key * kQueries + j * kLanes;
      const FloatVector e = exp_nonpositive(hn::Sub(hn::Load(kFloat, place), maximum[j]));
      hn::Store(e, kFloat, place);
      sum[j] = hn::Add(sum[j], e);
    }
  }
  std::copy_n(sum, kTileVectors, softmax.sum);
}

/// out[d][query] = out · rescale + Σ_key values[key][d] · weights[key][query]
void add_values(const FloatRows& values, std::int64_t keys, std::int64_t head_dim,
                const float* weights, const FloatVector (&rescale)[kTileVectors], float* out) {
  for_row_panels(head_dim, [&](std::int64_t d, auto height) HWY_ATTR {
    Tile<height, kTileVectors> tile;
    float* to = out + d * kQueries;
    tile.load_scaled(to, kQueries, rescale);
    tile.add_product({values.data + d, 1, values.stride}, {weights, kQueries}, keys);
    tile.template store<false>(to, kQueries, kQueries);
  });
}

/// Divides by the sums and writes the tile's rows.
void finish(const HeadView& head, std::int64_t first, std::int64_t count, const Softmax& softmax,
            float* out, float* scratch) {
  for (int j = 0; j < kTileVectors; ++j) {
    const FloatVector scale = hn::Div(set(1), softmax.sum[j]);
    for (std::int64_t d = 0; d < head.head_dim; ++d) {
      float* place = out + d * kQueries + j * kLanes;
      hn::Store(hn::Mul(hn::Load(kFloat, place), scale), kFloat, place);
    }
  }
  scatter_queries(out, count, head.head_dim, head.out.from(first * head.out_stride),
                  head.out_stride, scratch);
  if (head.lse == nullptr) return;
  HWY_ALIGN float lse[kQueries];
  for (int j = 0; j < kTileVectors; ++j) {
    const FloatVector log_sum = hn::Log(kFloat, softmax.sum[j]);
    hn::Store(hn::Add(softmax.maximum[j], log_sum), kFloat, lse + j * kLanes);
  }
  for (std::int64_t i = 0; i < count; ++i)
    head.lse[(first + i) * head.lse_stride] = lse[i];
}

/// Queries [first, first + kQueries) of a head.
void attend(const HeadView& head, std::int64_t first, float* scratch) {
  static_assert(2 * kHeadFloats + kScoreFloats + kKeys * kMaxHeadDim <= Context::kTaskFloats);
  float* queries = scratch;
  float* out = queries + kHeadFloats;
  float* scores = out + kHeadFloats;
  float* rows = scores + kScoreFloats;  // of bf16 as floats
  const std::int64_t count = std::min(kQueries, head.count - first);
  const Lanes lanes = make_lanes(head.position + first, count,
                                 head.starts == nullptr ? nullptr : head.starts + first);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head.head_dim));
  gather_queries(float_rows(head.queries.from(first * head.query_stride), head.query_stride, count,
                            head.head_dim, rows),
                 count, head.head_dim, scale, queries);
  std::fill_n(out, head.head_dim * kQueries, 0.0F);
  Softmax softmax;
  FloatVector rescale[kTileVectors];
  for (int j = 0; j < kTileVectors; ++j) {
    softmax.maximum[j] = set(-1e30F);
    softmax.sum[j] = hn::Zero(kFloat);
  }
  for (std::int64_t key = lanes.first_key; key < lanes.last_key; key += kKeys) {
    const std::int64_t keys = std::min(kKeys, lanes.last_key - key);
    const FloatRows key_rows = float_rows(head.keys.from(key * head.key_stride), head.key_stride,
                                          keys, head.head_dim, rows);
    keys_by_queries(key_rows.data, key_rows.stride, keys, queries, head.head_dim, scores);
    exponentiate(lanes, key, keys, scores, softmax, rescale);
    const FloatRows value_rows = float_rows(head.values.from(key * head.key_stride),
                                            head.key_stride, keys, head.head_dim, rows);
    add_values(value_rows, keys, head.head_dim, scores, rescale, out);
  }
  finish(head, first, count, softmax, out, rows);
}

}  // namespace

void attention_for_target(Context& context, const Attention& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t tiles = (shape.sequence + kQueries - 1) / kQueries;
  const std::int64_t sequences = op.qkv.rows() / shape.sequence;
  context.pool().parallel_for(sequences * shape.heads * tiles, [&](std::int64_t task) {
    const Context::TaskScratch scratch(context);
    const std::int64_t row = task / tiles / shape.heads * shape.sequence;
    const std::int64_t h = task / tiles % shape.heads;
    const Reals qkv = Reals(op.qkv).from(row * shape.qkv_width());
    const Reals keys =
        qkv.from(shape.query_width() + h * shape.kv_heads / shape.heads * shape.head_dim);
    const HeadView head{.queries = qkv.from(h * shape.head_dim),
                        .query_stride = shape.qkv_width(),
                        .keys = keys,
                        .values = keys.from(shape.key_width()),
                        .key_stride = shape.qkv_width(),
                        .starts = op.document_starts.as<std::int32_t>() + row,
                        .out = Reals(op.out).from(row * shape.query_width() + h * shape.head_dim),
                        .out_stride = shape.query_width(),
                        .lse = op.lse.as<float>() + row * shape.heads + h,
                        .lse_stride = shape.heads,
                        .position = 0,
                        .count = shape.sequence,
                        .head_dim = shape.head_dim};
    attend(head, task % tiles * kQueries, scratch.data());
  });
}

void decode_attention_for_target(Context& context, const DecodeAttention& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t rows = op.qkv.rows();
  for (std::int64_t row = 0; row < rows; ++row) {
    const Reals keys = Reals(op.qkv).from(row * shape.qkv_width() + shape.query_width());
    const std::int64_t place = (op.first_position + row) * shape.key_width();
    copy_reals(keys, Reals(op.key_cache).from(place), shape.key_width());
    copy_reals(keys.from(shape.key_width()), Reals(op.value_cache).from(place), shape.key_width());
  }
  const std::int64_t tiles = (rows + kQueries - 1) / kQueries;
  context.pool().parallel_for(shape.heads * tiles, [&](std::int64_t task) {
    const Context::TaskScratch scratch(context);
    const std::int64_t h = task / tiles;
    const std::int64_t key_column = h * shape.kv_heads / shape.heads * shape.head_dim;
    const HeadView head{.queries = Reals(op.qkv).from(h * shape.head_dim),
                        .query_stride = shape.qkv_width(),
                        .keys = Reals(op.key_cache).from(key_column),
                        .values = Reals(op.value_cache).from(key_column),
                        .key_stride = shape.key_width(),
                        .starts = nullptr,
                        .out = Reals(op.out).from(h * shape.head_dim),
                        .out_stride = shape.query_width(),
                        .lse = nullptr,
                        .lse_stride = 0,
                        .position = op.first_position,
                        .count = rows,
                        .head_dim = shape.head_dim};
    attend(head, task % tiles * kQueries, scratch.data());
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(attention_for_target);
HWY_EXPORT(decode_attention_for_target);

void attention(Context& context, const Attention& op) {
  HWY_DYNAMIC_DISPATCH(attention_for_target)(context, op);
}

void decode_attention(Context& context, const DecodeAttention& op) {
  HWY_DYNAMIC_DISPATCH(decode_attention_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
