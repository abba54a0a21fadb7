// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// A task's scratch: the tile's queries and output gradients along the lanes and as rows, the
/// queries' gradient, the weights and the scores' gradients.
struct Scratch {
  float* queries;
  float* d_out;
  float* d_queries;
  float* query_rows;
  float* d_out_rows;
  float* weights;
  float* d_scores;

  explicit Scratch(float* from)
      : queries(from),
        d_out(queries + kHeadFloats),
        d_queries(d_out + kHeadFloats),
        query_rows(d_queries + kHeadFloats),
        d_out_rows(query_rows + kHeadFloats),
        weights(d_out_rows + kHeadFloats),
        d_scores(weights + kScoreFloats) {
    static_assert(5 * kHeadFloats + 2 * kScoreFloats <= Context::kTaskFloats);
  }
};

/// One sequence of one operation.
struct SequenceView {
  const AttentionBackward& op;
  std::int64_t first_row;

  const float* qkv(std::int64_t column) const {
    return op.qkv.as<float>() + first_row * op.shape.qkv_width() + column;
  }
  float* d_qkv(std::int64_t column) const {
    return op.d_qkv.as<float>() + first_row * op.shape.qkv_width() + column;
  }
};

/// The lanes' log-sum-exps and Σ_d out · d_out; lanes beyond the queries weigh nothing.
struct RowTerms {
  FloatVector lse[kTileVectors];
  FloatVector output_dot[kTileVectors];
};

RowTerms row_terms(const SequenceView& view, std::int64_t h, std::int64_t first,
                   std::int64_t count) {
  const AttentionShape& shape = view.op.shape;
  HWY_ALIGN float lse[kQueries];
  HWY_ALIGN float output_dot[kQueries] = {};
  std::fill_n(lse, kQueries, INFINITY);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = view.first_row + first + i;
    const std::int64_t place = row * shape.query_width() + h * shape.head_dim;
    lse[i] = view.op.lse.as<float>()[row * shape.heads + h];
    output_dot[i] =
        dot(view.op.out.as<float>() + place, view.op.d_out.as<float>() + place, shape.head_dim);
  }
  RowTerms terms;
  for (int j = 0; j < kTileVectors; ++j) {
    terms.lse[j] = hn::Load(kFloat, lse + j * kLanes);
    terms.output_dot[j] = hn::Load(kFloat, output_dot + j * kLanes);
  }
  return terms;
}

/// to[query][d] = from · scale, rows padded with zeros to whole vectors.
void copy_rows(const float* from, std::int64_t stride, std::int64_t count, std::int64_t head_dim,
               float scale, float* to, std::int64_t to_stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < head_dim; d += kLanes) {
      const FloatVector v = load_up_to(from + i * stride + d, head_dim - d);
      hn::Store(hn::Mul(v, set(scale)), kFloat, to + i * to_stride + d);
    }
  }
}

/// Scores to weights, the weights' gradients to the scores'.
void weigh(const Lanes& lanes, const RowTerms& terms, std::int64_t first_key, std::int64_t keys,
           float* weights, float* d_scores) {
  for (std::int64_t key = 0; key < keys; ++key) {
    const bool masked = any_hidden(lanes, first_key + key);
    for (int j = 0; j < kTileVectors; ++j) {
      float* weight = weights + key * kQueries + j * kLanes;
      float* d_score = d_scores + key * kQueries + j * kLanes;
      FloatVector w = exp_nonpositive(hn::Sub(hn::Load(kFloat, weight), terms.lse[j]));
      if (masked) w = hn::IfThenZeroElse(hidden(lanes, j, first_key + key), w);
      hn::Store(w, kFloat, weight);
      const FloatVector d = hn::Sub(hn::Load(kFloat, d_score), terms.output_dot[j]);
      hn::Store(hn::Mul(w, d), kFloat, d_score);
    }
  }
}

/// to[key][d] += Σ_query factors[key][query] · rows[query][d]
void add_to_keys(const float* factors, std::int64_t keys, const float* rows,
                 std::int64_t row_stride, std::int64_t queries, std::int64_t head_dim, float* to,
                 std::int64_t to_stride) {
  for (std::int64_t d = 0; d < head_dim; d += kTileColumns) {
    for_row_panels(keys, [&](std::int64_t key, auto height) HWY_ATTR {
      Tile<height, kTileVectors> tile;
      tile.clear();
      tile.add_product({factors + key * kQueries, kQueries, 1}, {rows + d, row_stride}, queries);
      tile.template store<true>(to + key * to_stride + d, to_stride, head_dim - d);
    });
  }
}

/// d_queries[d][query] += Σ_key keys[key][d] · d_scores[key][query]
void add_to_queries(const float* key_rows, std::int64_t stride, std::int64_t keys,
                    const float* d_scores, std::int64_t head_dim, float* d_queries) {
  for_row_panels(head_dim, [&](std::int64_t d, auto height) HWY_ATTR {
    Tile<height, kTileVectors> tile;
    tile.clear();
    tile.add_product({key_rows + d, 1, stride}, {d_scores, kQueries}, keys);
    tile.template store<true>(d_queries + d * kQueries, kQueries, kQueries);
  });
}

/// Queries [first, first + kQueries) of head h: their gradient, and their share of the keys'.
void attend_backward(const SequenceView& view, std::int64_t h, std::int64_t first,
                     const Scratch& scratch) {
  const AttentionShape& shape = view.op.shape;
  const std::int64_t width = shape.qkv_width();
  const std::int64_t head_dim = shape.head_dim;
  const std::int64_t padded = (head_dim + kTileColumns - 1) / kTileColumns * kTileColumns;
  const std::int64_t count = std::min(kQueries, shape.sequence - first);
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  const std::int64_t key_column = shape.query_width() + h * shape.kv_heads / shape.heads * head_dim;
  const std::int64_t value_column = key_column + shape.key_width();
  const float* queries = view.qkv(h * head_dim) + first * width;
  const float* d_out =
      view.op.d_out.as<float>() + (view.first_row + first) * shape.query_width() + h * head_dim;

  const Lanes lanes =
      make_lanes(first, count, view.op.document_starts.as<std::int32_t>() + view.first_row + first);
  const RowTerms terms = row_terms(view, h, first, count);
  gather_queries(queries, width, count, head_dim, scale, scratch.queries);
  gather_queries(d_out, shape.query_width(), count, head_dim, 1.0F, scratch.d_out);
  copy_rows(queries, width, count, head_dim, scale, scratch.query_rows, padded);
  copy_rows(d_out, shape.query_width(), count, head_dim, 1.0F, scratch.d_out_rows, padded);
  std::fill_n(scratch.d_queries, head_dim * kQueries, 0.0F);

  for (std::int64_t key = lanes.first_key; key < lanes.last_key; key += kKeys) {
    const std::int64_t keys = std::min(kKeys, lanes.last_key - key);
    const float* key_rows = view.qkv(key_column) + key * width;
    const float* value_rows = view.qkv(value_column) + key * width;
    keys_by_queries(key_rows, width, keys, scratch.queries, head_dim, scratch.weights);
    keys_by_queries(value_rows, width, keys, scratch.d_out, head_dim, scratch.d_scores);
    weigh(lanes, terms, key, keys, scratch.weights, scratch.d_scores);
    add_to_keys(scratch.weights, keys, scratch.d_out_rows, padded, count, head_dim,
                view.d_qkv(value_column) + key * width, width);
    add_to_keys(scratch.d_scores, keys, scratch.query_rows, padded, count, head_dim,
                view.d_qkv(key_column) + key * width, width);
    add_to_queries(key_rows, width, keys, scratch.d_scores, head_dim, scratch.d_queries);
  }
  for (std::int64_t i = 0; i < head_dim * kQueries; i += kLanes) {
    float* place = scratch.d_queries + i;
    hn::Store(hn::Mul(hn::Load(kFloat, place), set(scale)), kFloat, place);
  }
  transpose(scratch.d_queries, kQueries, head_dim, count, view.d_qkv(h * head_dim) + first * width,
            width);
}

}  // namespace

/// A task is one key head of one sequence with the query heads that read it, one after the other,
/// so that its keys' gradients are added in one order.
void attention_backward_for_target(Context& context, const AttentionBackward& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t sequences = op.qkv.rows() / shape.sequence;
  const std::int64_t group = shape.heads / shape.kv_heads;
  context.pool().parallel_for(sequences * shape.kv_heads, [&](std::int64_t task) {
    const Context::TaskScratch task_scratch(context);
    const Scratch scratch(task_scratch.data());
    const SequenceView view{op, task / shape.kv_heads * shape.sequence};
    const std::int64_t kv_head = task % shape.kv_heads;
    float* d_keys = view.d_qkv(shape.query_width() + kv_head * shape.head_dim);
    for (std::int64_t row = 0; row < shape.sequence; ++row) {
      std::fill_n(d_keys + row * shape.qkv_width(), shape.head_dim, 0.0F);
      std::fill_n(d_keys + row * shape.qkv_width() + shape.key_width(), shape.head_dim, 0.0F);
    }
    for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      for (std::int64_t first = 0; first < shape.sequence; first += kQueries) {
        attend_backward(view, h, first, scratch);
      }
    }
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(attention_backward_for_target);

void attention_backward(Context& context, const AttentionBackward& op) {
  HWY_DYNAMIC_DISPATCH(attention_backward_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
