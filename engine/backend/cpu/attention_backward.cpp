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
/// queries' gradient, the weights and the scores' gradients; then what only bf16 needs.
struct Scratch {
  float* queries;
  float* d_out;
  float* d_queries;
  float* query_rows;
  float* d_out_rows;
  float* weights;
  float* d_scores;
  std::int64_t keys_at_once;  ///< whose gradients fit
  std::int64_t tile_keys;
  float* key_rows;  ///< a tile's keys and values as floats
  float* value_rows;
  float* key_sums;  ///< the keys' and the values' gradients
  float* value_sums;

  /// `head_floats` is room for a head's kQueries queries, padded to whole tiles.
  Scratch(float* from, std::int64_t head_dim, std::int64_t head_floats)
      : queries(from),
        d_out(queries + head_floats),
        d_queries(d_out + head_floats),
        query_rows(d_queries + head_floats),
        d_out_rows(query_rows + head_floats),
        weights(d_out_rows + head_floats),
        d_scores(weights + kScoreFloats),
        keys_at_once(
            keys_in(Context::kTaskFloats - 5 * head_floats - 2 * kScoreFloats, 2 * head_dim)),
        tile_keys(std::min(kKeys, keys_at_once)),
        key_rows(d_scores + kScoreFloats),
        value_rows(key_rows + tile_keys * head_dim),
        key_sums(value_rows + tile_keys * head_dim),
        value_sums(key_sums + keys_at_once * head_dim) {
    // The queries are widened where keys and values are later.
    static_assert(5 * kHeadFloats + 2 * kScoreFloats + 2 * kQueries * kMaxHeadDim <=
                  Context::kTaskFloats);
  }

  /// Keys of which `floats` floats hold the sums, of key_floats each, beside the rows of one tile.
  static std::int64_t keys_in(std::int64_t floats, std::int64_t key_floats) {
    const std::int64_t beside_a_tile = floats / key_floats - kKeys;
    return beside_a_tile >= kKeys ? beside_a_tile : floats / (2 * key_floats);
  }
};

/// Rows of floats that are added to, `stride` apart; null where they are not wanted.
struct Sums {
  float* data = nullptr;
  std::int64_t stride = 0;
};

/// What one pass over queries makes of the gradients: those of the keys [first_key, end_key) and
/// of their values, those of the queries from these keys, or both.
struct Pass {
  std::int64_t first_key = 0;
  std::int64_t end_key = 0;
  Sums d_keys;  ///< from first_key on
  Sums d_values;
  bool d_queries = true;
  std::int64_t tile_keys = kKeys;
};

/// One sequence of one operation.
struct SequenceView {
  const AttentionBackward& op;
  std::int64_t first_row;

  Reals qkv(std::int64_t column) const {
    return Reals(op.qkv).from(first_row * op.shape.qkv_width() + column);
  }
  Reals d_qkv(std::int64_t column) const {
    return Reals(op.d_qkv).from(first_row * op.shape.qkv_width() + column);
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
    with_type_of(view.op.out, [&]<class T>(T*) HWY_ATTR {
      output_dot[i] =
          dot(view.op.out.as<T>() + place, view.op.d_out.as<T>() + place, shape.head_dim);
    });
  }
  RowTerms terms;
  for (int j = 0; j < kTileVectors; ++j) {
    terms.lse[j] = hn::Load(kFloat, lse + j * kLanes);
    terms.output_dot[j] = hn::Load(kFloat, output_dot + j * kLanes);
  }
  return terms;
}

/// Floats of a head's row up to the end of its last tile.
std::int64_t padded(std::int64_t head_dim) {
  return (head_dim + kTileColumns - 1) / kTileColumns * kTileColumns;
}

/// to[query][d] = from · scale, rows padded with zeros to whole vectors.
void copy_rows(const FloatRows& from, std::int64_t count, std::int64_t head_dim, float scale,
               float* to, std::int64_t to_stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t d = 0; d < head_dim; d += kLanes) {
      const FloatVector v = load_up_to(from.data + i * from.stride + d, head_dim - d);
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
void add_to_queries(const FloatRows& key_rows, std::int64_t keys, const float* d_scores,
                    std::int64_t head_dim, float* d_queries) {
  for_row_panels(head_dim, [&](std::int64_t d, auto height) HWY_ATTR {
    Tile<height, kTileVectors> tile;
    tile.clear();
    tile.add_product({key_rows.data + d, 1, key_rows.stride}, {d_scores, kQueries}, keys);
    tile.template store<true>(d_queries + d * kQueries, kQueries, kQueries);
  });
}

/// Queries [first, first + count) of a head and their output gradients, both along the lanes and as
/// rows.
void gather(const SequenceView& view, std::int64_t h, std::int64_t first, std::int64_t count,
            const Scratch& scratch) {
  const AttentionShape& shape = view.op.shape;
  const std::int64_t width = shape.qkv_width();
  const std::int64_t head_dim = shape.head_dim;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  const FloatRows queries = float_rows(view.qkv(h * head_dim).from(first * width), width, count,
                                       head_dim, scratch.key_rows);
  gather_queries(queries, count, head_dim, scale, scratch.queries);
  copy_rows(queries, count, head_dim, scale, scratch.query_rows, padded(head_dim));
  const std::int64_t place = (view.first_row + first) * shape.query_width() + h * head_dim;
  const FloatRows d_out = float_rows(Reals(view.op.d_out).from(place), shape.query_width(), count,
                                     head_dim, scratch.key_rows);
  gather_queries(d_out, count, head_dim, 1.0F, scratch.d_out);
  copy_rows(d_out, count, head_dim, 1.0F, scratch.d_out_rows, padded(head_dim));
}

/// Queries [first, first + kQueries) of head h: their gradient, and their share of the keys'.
void attend_backward(const SequenceView& view, std::int64_t h, std::int64_t first, const Pass& pass,
                     const Scratch& scratch) {
  const AttentionShape& shape = view.op.shape;
  const std::int64_t width = shape.qkv_width();
  const std::int64_t head_dim = shape.head_dim;
  const std::int64_t count = std::min(kQueries, shape.sequence - first);
  const std::int64_t key_column = shape.query_width() + h * shape.kv_heads / shape.heads * head_dim;
  const std::int64_t value_column = key_column + shape.key_width();

  const Lanes lanes =
      make_lanes(first, count, view.op.document_starts.as<std::int32_t>() + view.first_row + first);
  const std::int64_t end = std::min(lanes.last_key, pass.end_key);
  const RowTerms terms = row_terms(view, h, first, count);
  gather(view, h, first, count, scratch);
  std::fill_n(scratch.d_queries, head_dim * kQueries, 0.0F);

  for (std::int64_t key = std::max(lanes.first_key, pass.first_key); key < end;
       key += pass.tile_keys) {
    const std::int64_t keys = std::min(pass.tile_keys, end - key);
    const FloatRows key_rows =
        float_rows(view.qkv(key_column).from(key * width), width, keys, head_dim, scratch.key_rows);
    const FloatRows value_rows = float_rows(view.qkv(value_column).from(key * width), width, keys,
                                            head_dim, scratch.value_rows);
    keys_by_queries(key_rows.data, key_rows.stride, keys, scratch.queries, head_dim,
                    scratch.weights);
    keys_by_queries(value_rows.data, value_rows.stride, keys, scratch.d_out, head_dim,
                    scratch.d_scores);
    weigh(lanes, terms, key, keys, scratch.weights, scratch.d_scores);
    if (pass.d_keys.data != nullptr) {
      const std::int64_t place = key - pass.first_key;
      add_to_keys(scratch.weights, keys, scratch.d_out_rows, padded(head_dim), count, head_dim,
                  pass.d_values.data + place * pass.d_values.stride, pass.d_values.stride);
      add_to_keys(scratch.d_scores, keys, scratch.query_rows, padded(head_dim), count, head_dim,
                  pass.d_keys.data + place * pass.d_keys.stride, pass.d_keys.stride);
    }
    if (pass.d_queries)
      add_to_queries(key_rows, keys, scratch.d_scores, head_dim, scratch.d_queries);
  }
  if (!pass.d_queries) return;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  for (std::int64_t i = 0; i < head_dim * kQueries; i += kLanes) {
    float* place = scratch.d_queries + i;
    hn::Store(hn::Mul(hn::Load(kFloat, place), set(scale)), kFloat, place);
  }
  scatter_queries(scratch.d_queries, count, head_dim, view.d_qkv(h * head_dim).from(first * width),
                  width, scratch.query_rows);
}

/// All queries that read a key head and see keys of the pass, head after head, so that the keys'
/// gradients are added in one order.
void run_pass(const SequenceView& view, std::int64_t kv_head, const Pass& pass,
              const Scratch& scratch) {
  const std::int64_t group = view.op.shape.heads / view.op.shape.kv_heads;
  for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (std::int64_t first = pass.first_key / kQueries * kQueries; first < view.op.shape.sequence;
         first += kQueries) {
      attend_backward(view, h, first, pass, scratch);
    }
  }
}

/// The keys' gradients are summed up where they stay.
void run_in_floats(const SequenceView& view, std::int64_t kv_head, float* task_scratch) {
  const AttentionShape& shape = view.op.shape;
  const std::int64_t width = shape.qkv_width();
  float* d_keys = view.d_qkv(shape.query_width() + kv_head * shape.head_dim).as<float>();
  for (std::int64_t row = 0; row < shape.sequence; ++row) {
    std::fill_n(d_keys + row * width, shape.head_dim, 0.0F);
    std::fill_n(d_keys + row * width + shape.key_width(), shape.head_dim, 0.0F);
  }
  run_pass(view, kv_head,
           {.end_key = shape.sequence,
            .d_keys = {d_keys, width},
            .d_values = {d_keys + shape.key_width(), width}},
           Scratch(task_scratch, shape.head_dim, kHeadFloats));
}

/// The keys' gradients are summed up in scratch, for as many keys at once as fit, and rounded when
/// they are whole. The queries' gradients are made in the same pass if that is all keys, else in
/// one of their own.
void run_in_bf16(const SequenceView& view, std::int64_t kv_head, float* task_scratch) {
  const AttentionShape& shape = view.op.shape;
  const std::int64_t head_dim = shape.head_dim;
  const Scratch scratch(task_scratch, head_dim, padded(head_dim) * kQueries);
  const std::int64_t most = scratch.keys_at_once;
  const bool all_at_once = shape.sequence <= most;
  const Reals d_keys = view.d_qkv(shape.query_width() + kv_head * head_dim);
  for (std::int64_t key = 0; key < shape.sequence; key += most) {
    const std::int64_t keys = std::min(most, shape.sequence - key);
    std::fill_n(scratch.key_sums, keys * head_dim, 0.0F);
    std::fill_n(scratch.value_sums, keys * head_dim, 0.0F);
    run_pass(view, kv_head,
             {.first_key = key,
              .end_key = key + keys,
              .d_keys = {scratch.key_sums, head_dim},
              .d_values = {scratch.value_sums, head_dim},
              .d_queries = all_at_once,
              .tile_keys = scratch.tile_keys},
             scratch);
    for (std::int64_t row = 0; row < keys; ++row) {
      const Reals to = d_keys.from((key + row) * shape.qkv_width());
      copy_reals(scratch.key_sums + row * head_dim, to, head_dim);
      copy_reals(scratch.value_sums + row * head_dim, to.from(shape.key_width()), head_dim);
    }
  }
  if (all_at_once) return;
  run_pass(view, kv_head, {.end_key = shape.sequence, .tile_keys = scratch.tile_keys}, scratch);
}

}  // namespace

/// A task is one key head of one sequence.
void attention_backward_for_target(Context& context, const AttentionBackward& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t sequences = op.qkv.rows() / shape.sequence;
  context.pool().parallel_for(sequences * shape.kv_heads, [&](std::int64_t task) {
    const Context::TaskScratch scratch(context);
    const SequenceView view{op, task / shape.kv_heads * shape.sequence};
    const std::int64_t kv_head = task % shape.kv_heads;
    if (op.d_qkv.dtype == DType::bf16) {
      run_in_bf16(view, kv_head, scratch.data());
    } else {
      run_in_floats(view, kv_head, scratch.data());
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
