// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/dropout-inl.h"
#include "engine/backend/cpu/row_norm-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

constexpr std::int64_t kRows = 32;

/// to = input + dropout(branch); gives the sum of its squares.
float add_row(const float* input, const float* branch, DropoutRun* dropout, std::int64_t width,
              float* to) {
  FloatVector squares = set(0);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    FloatVector x = load_up_to(input + i, width - i);
    if (branch != nullptr) {
      FloatVector added = load_up_to(branch + i, width - i);
      if (dropout != nullptr) added = hn::Mul(added, dropout->next(std::min(kLanes, width - i)));
      x = hn::Add(x, added);
      store_up_to(x, to + i, width - i);
    }
    squares = hn::MulAdd(x, x, squares);
  }
  return sum_lanes(squares);
}

/// The gradient at the sum of one row, and its share of the weight's.
void norm_backward_row(const AddNormBackward& op, std::int64_t row, float* d_weight) {
  const std::int64_t width = op.sum.shape[1];
  const std::int64_t place = row * width;
  const float* d_residual = op.d_residual.present() ? op.d_residual.as<float>() + place : nullptr;
  float* d_sum = op.d_sum.as<float>() + place;
  row_norm_backward(op.sum.as<float>() + place, op.weight.as<float>(), op.rstd.as<float>()[row],
                    width, op.d_out.as<float>() + place, d_residual, d_sum, d_weight);
  if (!op.d_branch.present()) return;
  DropoutRun dropout(op.dropout, place);
  float* d_branch = op.d_branch.as<float>() + place;
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const FloatVector factor = dropout.next(std::min(kLanes, width - i));
    store_up_to(hn::Mul(load_up_to(d_sum + i, width - i), factor), d_branch + i, width - i);
  }
}

}  // namespace

void add_norm_for_target(Context& context, const AddNorm& op) {
  const std::int64_t rows = op.input.rows();
  const std::int64_t width = op.input.shape[1];
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      const std::int64_t place = row * width;
      const float* input = op.input.as<float>() + place;
      const float* branch = op.branch.present() ? op.branch.as<float>() + place : nullptr;
      float* sum = branch != nullptr ? op.sum.as<float>() + place : nullptr;
      DropoutRun dropout(op.dropout, place);
      const float squares =
          add_row(input, branch, op.dropout.rate > 0 ? &dropout : nullptr, width, sum);
      const float rstd = reciprocal_rms(squares, width, op.epsilon);
      op.rstd.as<float>()[row] = rstd;
      scale_row(branch != nullptr ? sum : input, rstd, op.weight.as<float>(), width,
                op.out.as<float>() + place);
    }
  });
}

void norm_again_for_target(Context& context, const NormAgain& op) {
  const std::int64_t rows = op.x.rows();
  const std::int64_t width = op.x.shape[1];
  context.pool().parallel_for((rows + kRows - 1) / kRows, [&](std::int64_t task) {
    for (std::int64_t row = task * kRows; row < std::min(rows, (task + 1) * kRows); ++row) {
      scale_row(op.x.as<float>() + row * width, op.rstd.as<float>()[row], op.weight.as<float>(),
                width, op.out.as<float>() + row * width);
    }
  });
}

void add_norm_backward_for_target(Context& context, const AddNormBackward& op) {
  const std::int64_t rows = op.sum.rows();
  const std::int64_t width = op.sum.shape[1];
  float* parts = op.scratch.as<float>();
  context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
    float* d_weight = parts + part * width;
    std::fill_n(d_weight, width, 0.0F);
    const std::int64_t end = (part + 1) * rows / kReductionParts;
    for (std::int64_t row = part * rows / kReductionParts; row < end; ++row) {
      norm_backward_row(op, row, d_weight);
    }
  });
  add_column_sums(context, op.scratch, op.d_weight);
}

/// Columns are the tasks: each adds its rows in order, reading whole cache lines.
void add_column_sums_for_target(Context& context, const Tensor& from, const Tensor& to) {
  constexpr std::int64_t kColumns = 4 * kLanes;
  const std::int64_t rows = from.rows();
  const std::int64_t columns = to.elements();
  context.pool().parallel_for((columns + kColumns - 1) / kColumns, [&](std::int64_t task) {
    for (std::int64_t c = task * kColumns; c < std::min(columns, (task + 1) * kColumns);
         c += kLanes) {
      FloatVector sum = set(0);
      for (std::int64_t row = 0; row < rows; ++row) {
        sum = hn::Add(sum, load_up_to(from.as<float>() + row * columns + c, columns - c));
      }
      float* place = to.as<float>() + c;
      store_up_to(hn::Add(load_up_to(place, columns - c), sum), place, columns - c);
    }
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(add_norm_for_target);
HWY_EXPORT(norm_again_for_target);
HWY_EXPORT(add_norm_backward_for_target);
HWY_EXPORT(add_column_sums_for_target);

void add_norm(Context& context, const AddNorm& op) {
  HWY_DYNAMIC_DISPATCH(add_norm_for_target)(context, op);
}

void norm_again(Context& context, const NormAgain& op) {
  HWY_DYNAMIC_DISPATCH(norm_again_for_target)(context, op);
}

void add_norm_backward(Context& context, const AddNormBackward& op) {
  HWY_DYNAMIC_DISPATCH(add_norm_backward_for_target)(context, op);
}

void add_column_sums(Context& context, const Tensor& from, const Tensor& to) {
  HWY_DYNAMIC_DISPATCH(add_column_sums_for_target)(context, from, to);
}

}  // namespace athanor::cpu
#endif
