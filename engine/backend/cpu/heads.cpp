// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/heads.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/row_norm-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

constexpr std::int64_t kRows = 32;

/// Gives the reciprocal of the head's root mean square.
float norm_head(const float* x, const float* weight, std::int64_t head_dim, float epsilon,
                float* out) {
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
void turn_head(float* x, const float* cosines, std::int64_t half, bool inverse) {
  float* y = x + half;
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

}  // namespace

void qk_norm_for_target(Context& context, const QkNorm& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t rows = op.qkv.rows();
  const std::int64_t heads = shape.heads + shape.kv_heads;
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      const float* from = op.qkv.as<float>() + row * shape.qkv_width();
      float* to = op.out.as<float>() + row * shape.qkv_width();
      for (std::int64_t h = 0; h < heads; ++h) {
        const Tensor& weight = h < shape.heads ? op.q_weight : op.k_weight;
        op.rstd.as<float>()[row * heads + h] =
            norm_head(from + h * shape.head_dim, weight.as<float>(), shape.head_dim, op.epsilon,
                      to + h * shape.head_dim);
      }
      const std::int64_t values = heads * shape.head_dim;
      std::copy_n(from + values, shape.key_width(), to + values);
    }
  });
}

void qk_norm_backward_for_target(Context& context, const QkNormBackward& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t rows = op.qkv.rows();
  const std::int64_t heads = shape.heads + shape.kv_heads;
  float* parts = op.scratch.as<float>();
  context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
    float* d_weights = parts + part * 2 * shape.head_dim;
    std::fill_n(d_weights, 2 * shape.head_dim, 0.0F);
    const std::int64_t end = (part + 1) * rows / kReductionParts;
    for (std::int64_t row = part * rows / kReductionParts; row < end; ++row) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t place = row * shape.qkv_width() + h * shape.head_dim;
        const bool query = h < shape.heads;
        float* d_head = op.d_qkv.as<float>() + place;
        row_norm_backward(op.qkv.as<float>() + place,
                          (query ? op.q_weight : op.k_weight).as<float>(),
                          op.rstd.as<float>()[row * heads + h], shape.head_dim, d_head, nullptr,
                          d_head, d_weights + (query ? 0 : shape.head_dim));
      }
    }
  });
  for (std::int64_t part = 0; part < kReductionParts; ++part) {
    const float* d_weights = parts + part * 2 * shape.head_dim;
    for (std::int64_t i = 0; i < shape.head_dim; ++i) {
      op.d_q_weight.as<float>()[i] += d_weights[i];
      op.d_k_weight.as<float>()[i] += d_weights[shape.head_dim + i];
    }
  }
}

void rope_for_target(Context& context, const Rope& op) {
  const AttentionShape& shape = op.shape;
  const std::int64_t rows = op.qkv.rows();
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      const std::int64_t position = op.first_position + row % shape.sequence;
      const float* angles = op.table.as<float>() + position * shape.head_dim;
      float* heads = op.qkv.as<float>() + row * shape.qkv_width();
      for (std::int64_t h = 0; h < shape.heads + shape.kv_heads; ++h) {
        turn_head(heads + h * shape.head_dim, angles, shape.head_dim / 2, op.inverse);
      }
    }
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
