// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/heads.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/row_norm-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// Gives the reciprocal of the head's root mean square.
template <class T, class W>
float norm_head(const T* x, const W* weight, std::int64_t head_dim, float epsilon, T* out) {
  FloatVector squares = set(0);
  for (std::int64_t i = 0; i < head_dim; i += kLanes) {
    const FloatVector v = load_up_to(x + i, head_dim - i);
    squares = hn::MulAdd(v, v, squares);
  }
  const float rstd = reciprocal_rms(sum_lanes(squares), head_dim, epsilon);
  scale_row(x, rstd, weight, head_dim, out);
  return rstd;
}

/// Turns the pairs (x[i], x[i + half]) of one head by the angles of its position.
template <class T>
void turn_head(T* x, const float* cosines, std::int64_t half, bool inverse) {
  T* y = x + half;
  const float* sines = cosines + half;
  for (std::int64_t i = 0; i < half; i += kLanes) {
    const std::int64_t left = half - i;
    const FloatVector c = load_up_to(cosines + i, left);
    const FloatVector plain = load_up_to(sines + i, left);
    const FloatVector s = inverse ? hn::Neg(plain) : plain;
    const FloatVector a = load_up_to(x + i, left);
    const FloatVector b = load_up_to(y + i, left);
    store_up_to(hn::NegMulAdd(b, s, hn::Mul(a, c)), x + i, left);
    store_up_to(hn::MulAdd(a, s, hn::Mul(b, c)), y + i, left);
  }
}

template <class T, class W>
void norm_heads(const QkNorm& op, std::int64_t row) {
  const AttentionShape& shape = op.shape;
  const std::int64_t heads = shape.heads + shape.kv_heads;
  const T* from = op.qkv.as<T>() + row * shape.qkv_width();
  T* to = op.out.as<T>() + row * shape.qkv_width();
  for (std::int64_t h = 0; h < heads; ++h) {
    const Tensor& weight = h < shape.heads ? op.q_weight : op.k_weight;
    op.rstd.as<float>()[row * heads + h] =
        norm_head(from + h * shape.head_dim, weight.as<W>(), shape.head_dim, op.epsilon,
                  to + h * shape.head_dim);
  }
  const std::int64_t values = heads * shape.head_dim;
  std::copy_n(from + values, shape.key_width(), to + values);
}

template <class T, class W>
void norm_heads_backward(const QkNormBackward& op, std::int64_t row, float* d_weights) {
  const AttentionShape& shape = op.shape;
  const std::int64_t heads = shape.heads + shape.kv_heads;
  for (std::int64_t h = 0; h < heads; ++h) {
    const std::int64_t place = row * shape.qkv_width() + h * shape.head_dim;
    const bool query = h < shape.heads;
    T* d_head = op.d_qkv.as<T>() + place;
    row_norm_backward(op.qkv.as<T>() + place, (query ? op.q_weight : op.k_weight).as<W>(),
                      op.rstd.as<float>()[row * heads + h], shape.head_dim, d_head,
                      static_cast<const T*>(nullptr), d_weights + (query ? 0 : shape.head_dim),
                      [&](FloatVector d, std::int64_t i, std::int64_t left)
                          HWY_ATTR { store_up_to(d, d_head + i, left); });
  }
}

/// d_weight += Σ of the parts' shares, which begin at `parts`.
template <class T>
void add_parts(const float* parts, std::int64_t head_dim, T* d_weight) {
  for (std::int64_t i = 0; i < head_dim; ++i) {
    float sum = get(d_weight + i);
    for (std::int64_t part = 0; part < kReductionParts; ++part)
      sum += parts[part * 2 * head_dim + i];
    put(sum, d_weight + i);
  }
}

template <class T>
void turn_heads(const Rope& op, std::int64_t row) {
  const AttentionShape& shape = op.shape;
  const std::int64_t position = op.first_position + row % shape.sequence;
  const float* angles = op.table.as<float>() + position * shape.head_dim;
  T* heads = op.qkv.as<T>() + row * shape.qkv_width();
  for (std::int64_t h = 0; h < shape.heads + shape.kv_heads; ++h)
    turn_head(heads + h * shape.head_dim, angles, shape.head_dim / 2, op.inverse);
}

}  // namespace

void qk_norm_for_target(Context& context, const QkNorm& op) {
  with_types_of(op.qkv, op.q_weight, [&]<class T, class W>(T*, W*) {
    for_each_row(context, op.qkv.rows(), [&](std::int64_t row) { norm_heads<T, W>(op, row); });
  });
}

void qk_norm_backward_for_target(Context& context, const QkNormBackward& op) {
  const std::int64_t head_dim = op.shape.head_dim;
  const std::int64_t rows = op.qkv.rows();
  float* parts = op.scratch.as<float>();
  with_types_of(op.qkv, op.q_weight, [&]<class T, class W>(T*, W*) {
    context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
      float* d_weights = parts + part * 2 * head_dim;
      std::fill_n(d_weights, 2 * head_dim, 0.0F);
      const std::int64_t end = (part + 1) * rows / kReductionParts;
      for (std::int64_t row = part * rows / kReductionParts; row < end; ++row)
        norm_heads_backward<T, W>(op, row, d_weights);
    });
  });
  if (!op.d_q_weight.present()) return;
  with_type_of(op.d_q_weight, [&]<class T>(T*) {
    add_parts(parts, head_dim, op.d_q_weight.as<T>());
    add_parts(parts + head_dim, head_dim, op.d_k_weight.as<T>());
  });
}

void rope_for_target(Context& context, const Rope& op) {
  with_type_of(op.qkv, [&]<class T>(T*) {
    for_each_row(context, op.qkv.rows(), [&](std::int64_t row) { turn_heads<T>(op, row); });
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(qk_norm_for_target);
HWY_EXPORT(qk_norm_backward_for_target);
HWY_EXPORT(rope_for_target);

void qk_norm(Context& context, const QkNorm& op) {
  HWY_DYNAMIC_DISPATCH(qk_norm_for_target)(context, op);
}

void qk_norm_backward(Context& context, const QkNormBackward& op) {
  HWY_DYNAMIC_DISPATCH(qk_norm_backward_for_target)(context, op);
}

void rope(Context& context, const Rope& op) {
  HWY_DYNAMIC_DISPATCH(rope_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
