// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>

#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/parameters.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/adamw-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

double sum_of_squares_of(const float* x, std::int64_t count) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<float, hn::ScalableTag<double>> narrow;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  auto even = hn::Zero(wide);
  auto odd = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto a = hn::PromoteTo(wide, hn::LoadU(narrow, x + i));
    const auto b = hn::PromoteTo(wide, hn::LoadU(narrow, x + i + lanes));
    even = hn::MulAdd(a, a, even);
    odd = hn::MulAdd(b, b, odd);
  }
  double sum = hn::GetLane(hn::SumOfLanes(wide, hn::Add(even, odd)));
  for (; i < count; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void update(const AdamW& op, const AdamWFactors& f, std::int64_t first, std::int64_t end) {
  float* weights = op.to.weights.as<float>();
  const float* gradients = op.gradients.as<float>();
  float* first_moments = op.m.as<float>();
  float* second_moments = op.v.as<float>();
  for (std::int64_t i = first; i < end; i += kLanes) {
    const std::int64_t left = end - i;
    FloatVector w = load_up_to(weights + i, left);
    FloatVector m = load_up_to(first_moments + i, left);
    FloatVector v = load_up_to(second_moments + i, left);
    adamw_step(f, load_up_to(gradients + i, left), w, m, v);
    store_up_to(m, first_moments + i, left);
    store_up_to(v, second_moments + i, left);
    store_up_to(w, weights + i, left);
  }
}

}  // namespace

double sum_of_squares_for_target(Context& context, const Tensor& x) {
  std::array<double, kReductionParts> parts{};
  const std::int64_t count = x.elements();
  context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
    const std::int64_t first = part * count / kReductionParts;
    const std::int64_t end = (part + 1) * count / kReductionParts;
    parts[static_cast<std::size_t>(part)] = sum_of_squares_of(x.as<float>() + first, end - first);
  });
  double sum = 0;
  for (const double part : parts)
    sum += part;
  return sum;
}

void adamw_for_target(Context& context, const AdamW& op) {
  constexpr std::int64_t kElements = 16384;
  const AdamWFactors factors = adamw_factors(op.at);
  const std::int64_t count = op.to.weights.elements();
  context.pool().parallel_for((count + kElements - 1) / kElements, [&](std::int64_t task) {
    update(op, factors, task * kElements, std::min(count, (task + 1) * kElements));
  });
}

void embedding_for_target(Context& context, const Embedding& op) {
  constexpr std::int64_t kRows = 64;
  const std::int64_t rows = op.out.rows();
  const std::int64_t width = op.out.shape[1];
  const std::int32_t* tokens = op.tokens.as<std::int32_t>();
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      std::copy_n(op.table.as<float>() + tokens[row] * width, width,
                  op.out.as<float>() + row * width);
    }
  });
}

/// Columns are the tasks: each adds all rows in order, and no two write the same element.
void embedding_backward_for_target(Context& context, const EmbeddingBackward& op) {
  constexpr std::int64_t kColumns = 32;
  const std::int64_t rows = op.d_out.rows();
  const std::int64_t width = op.d_out.shape[1];
  const std::int32_t* tokens = op.tokens.as<std::int32_t>();
  context.pool().parallel_for((width + kColumns - 1) / kColumns, [&](std::int64_t task) {
    const std::int64_t first = task * kColumns;
    const std::int64_t end = std::min(width, first + kColumns);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = op.d_out.as<float>() + row * width;
      float* to = op.d_table.as<float>() + tokens[row] * width;
      for (std::int64_t i = first; i < end; i += kLanes) {
        const FloatVector sum = hn::Add(load_up_to(to + i, end - i), load_up_to(from + i, end - i));
        store_up_to(sum, to + i, end - i);
      }
    }
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(sum_of_squares_for_target);
HWY_EXPORT(adamw_for_target);
HWY_EXPORT(embedding_for_target);
HWY_EXPORT(embedding_backward_for_target);

double sum_of_squares(Context& context, const Tensor& x) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares_for_target)(context, x);
}

void adamw(Context& context, const AdamW& op) {
  HWY_DYNAMIC_DISPATCH(adamw_for_target)(context, op);
}

void embedding(Context& context, const Embedding& op) {
  HWY_DYNAMIC_DISPATCH(embedding_for_target)(context, op);
}

void embedding_backward(Context& context, const EmbeddingBackward& op) {
  HWY_DYNAMIC_DISPATCH(embedding_backward_for_target)(context, op);
}

}  // namespace athanor::cpu
#endif
