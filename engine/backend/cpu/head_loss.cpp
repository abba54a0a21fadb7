// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"
#include "engine/backend/numbers_in_memory.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/head_loss.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// The largest logit of a row.
template <class T>
float maximum_of(const T* logits, std::int64_t count) {
  FloatVector maximum = set(get(logits));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    maximum = hn::Max(maximum, load(logits + i));
  }
  float largest = hn::GetLane(hn::MaxOfLanes(kFloat, maximum));
  for (; i < count; ++i)
    largest = std::max(largest, get(logits + i));
  return largest;
}

/// Logits to e^(logit − maximum); gives their sum.
float exponentiate(float* logits, std::int64_t count, float maximum) {
  FloatVector sum = set(0);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const FloatVector e = exp_nonpositive(hn::Sub(hn::LoadU(kFloat, logits + i), set(maximum)));
    hn::StoreU(e, kFloat, logits + i);
    sum = hn::Add(sum, e);
  }
  float total = sum_lanes(sum);
  if (i < count) {
    const FloatVector e = exp_nonpositive(hn::Sub(load_first(logits + i, count - i), set(maximum)));
    store_first(e, logits + i, count - i);
    for (; i < count; ++i)
      total += logits[i];
  }
  return total;
}

/// Σ e^(logit − maximum); the logits stay.
float sum_of_exponentials(const Bf16* logits, std::int64_t count, float maximum) {
  FloatVector sum = set(0);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    sum = hn::Add(sum, exp_nonpositive(hn::Sub(load(logits + i), set(maximum))));
  float total = sum_lanes(sum);
  if (i < count) {
    HWY_ALIGN float last[kLanes];
    hn::Store(exp_nonpositive(hn::Sub(load_first(logits + i, count - i), set(maximum))), kFloat,
              last);
    for (std::int64_t lane = 0; lane < count - i; ++lane)
      total += last[lane];
  }
  return total;
}

/// Multiplies by `factor`; what would fall below the normal numbers becomes zero, since processors
/// take hundreds of cycles for each such product, here and in the products that follow.
void scale(float* values, std::int64_t count, float factor) {
  const FloatVector least = set(std::numeric_limits<float>::min() / std::abs(factor));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const FloatVector v = load_up_to(values + i, count - i);
    const FloatVector kept = hn::IfThenZeroElse(hn::Lt(v, least), v);
    store_up_to(hn::Mul(kept, set(factor)), values + i, count - i);
  }
}

/// Logits to e^(logit − maximum) · factor, with zero for what `scale` makes zero, rounded once.
void scale_exponentials(Bf16* logits, std::int64_t count, float maximum, float factor) {
  const FloatVector least = set(std::numeric_limits<float>::min() / std::abs(factor));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const FloatVector logit = load_up_to(logits + i, count - i);
    const FloatVector v = exp_nonpositive(hn::Sub(logit, set(maximum)));
    const FloatVector kept = hn::IfThenZeroElse(hn::Lt(v, least), v);
    store_up_to(hn::Mul(kept, set(factor)), logits + i, count - i);
  }
}

/// −log p(target) of one row of logits, whose place the gradient takes when gradient_scale is not
/// zero; else what is left in it has no meaning. The target's term is left out of the sum of the
/// others, so that its gradient, −(sum of the others) / sum, is exact where p is almost 1.
template <class T>
float row_loss(T* logits, std::int64_t count, std::int32_t target, float gradient_scale) {
  const float maximum = maximum_of(logits, count);
  const float below = get(logits + target) - maximum;
  put(-INFINITY, logits + target);
  float others = 0;
  if constexpr (std::is_same_v<T, Bf16>) {
    others = sum_of_exponentials(logits, count, maximum);
  } else {
    others = exponentiate(logits, count, maximum);
  }
  const float own = std::exp(below);
  const float sum = others + own;
  if (gradient_scale != 0) {
    if constexpr (std::is_same_v<T, Bf16>) {
      scale_exponentials(logits, count, maximum, gradient_scale / sum);
    } else {
      scale(logits, count, gradient_scale / sum);
    }
    put(-gradient_scale * (others / sum), logits + target);
  }
  return below == 0 ? std::log1p(others) : std::log(sum) - below;
}

}  // namespace

float row_loss_for_target(const Reals& logits, std::int64_t count, std::int32_t target,
                          float gradient_scale) {
  return logits.halves() ? row_loss(logits.as<Bf16>(), count, target, gradient_scale)
                         : row_loss(logits.as<float>(), count, target, gradient_scale);
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(row_loss_for_target);

namespace {

void clear(const Tensor& tensor) {
  std::memset(tensor.data, 0, static_cast<std::size_t>(tensor.bytes()));
}

/// Losses of one chunk's rows, and their gradients in place of the logits; masked rows become
/// zeros.
void chunk_losses(Context& context, const HeadLoss& op, std::int64_t first, std::int64_t rows) {
  const std::int64_t vocabulary = op.weight.rows();
  const float of_all = op.d_x.present() ? static_cast<float>(gradient_scale_of(op)) : 0.0F;
  context.pool().parallel_for(rows, [&](std::int64_t row) {
    const Tensor logits = op.logits.slice_rows(row, 1);
    float& loss = op.losses.as<float>()[first + row];
    const std::int32_t target = op.targets.as<std::int32_t>()[first + row];
    if (target < 0) {
      loss = 0;
      clear(logits);
      return;
    }
    const float gradient_scale =
        op.row_factors.present() ? of_all * op.row_factors.as<float>()[first + row] : of_all;
    loss = HWY_DYNAMIC_DISPATCH(row_loss_for_target)(logits, vocabulary, target, gradient_scale);
    if (op.d_x.present() && gradient_scale == 0) clear(logits);
  });
}

bool all_masked(const HeadLoss& op, std::int64_t first, std::int64_t rows) {
  const std::int32_t* targets = op.targets.as<std::int32_t>() + first;
  return std::all_of(targets, targets + rows, [](std::int32_t target) { return target < 0; });
}

/// A bf16 d_weight is rounded after each chunk: the logits of all would not fit.
void run_chunk(Context& context, const HeadLoss& op, std::int64_t first, std::int64_t rows) {
  const std::int64_t width = op.x.shape[1];
  const std::int64_t vocabulary = op.weight.rows();
  const Reals x = Reals(op.x).from(first * width);
  const Reals logits = op.logits;
  multiply(context, {.rows = rows,
                     .columns = vocabulary,
                     .depth = width,
                     .a = {x, width},
                     .b = {op.weight, width, true},
                     .c = logits,
                     .c_stride = vocabulary});
  chunk_losses(context, op, first, rows);
  if (!op.d_x.present()) return;
  if (op.d_weight.present()) {
    multiply(context, {.rows = vocabulary,
                       .columns = width,
                       .depth = rows,
                       .a = {logits, vocabulary, true},
                       .b = {x, width},
                       .c = op.d_weight,
                       .c_stride = width,
                       .accumulate = true});
  }
  multiply(context, {.rows = rows,
                     .columns = width,
                     .depth = vocabulary,
                     .a = {logits, vocabulary},
                     .b = {op.weight, width},
                     .c = Reals(op.d_x).from(first * width),
                     .c_stride = width});
}

}  // namespace

void head_loss(Context& context, const HeadLoss& op) {
  const std::int64_t chunk = op.logits.rows();
  for (std::int64_t first = 0; first < op.x.rows(); first += chunk) {
    const std::int64_t rows = std::min(chunk, op.x.rows() - first);
    if (!all_masked(op, first, rows)) {
      run_chunk(context, op, first, rows);
      continue;
    }
    std::fill_n(op.losses.as<float>() + first, rows, 0.0F);
    if (op.d_x.present()) clear(op.d_x.slice_rows(first, rows));
  }
}

}  // namespace athanor::cpu
#endif
