// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/dropout-inl.h"
#include "engine/backend/cpu/row_norm-inl.h"
#include "engine/backend/cpu/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// to = input + dropout(branch); gives the sum of the squares of what was written.
template <class T>
float add_row(const T* input, const T* branch, DropoutRun* dropout, std::int64_t width, T* to) {
  FloatVector squares = set(0);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    FloatVector x = load_up_to(input + i, width - i);
    if (branch != nullptr) {
      FloatVector added = load_up_to(branch + i, width - i);
      if (dropout != nullptr) added = hn::Mul(added, dropout->next(std::min(kLanes, width - i)));
      x = as_stored<T>(hn::Add(x, added));
      store_up_to(x, to + i, width - i);
    }
    squares = hn::MulAdd(x, x, squares);
  }
  return sum_lanes(squares);
}

template <class T, class W>
void add_norm_row(const AddNorm& op, std::int64_t row) {
  const std::int64_t width = op.input.shape[1];
  const std::int64_t place = row * width;
  const T* input = op.input.as<T>() + place;
  const T* branch = op.branch.present() ? op.branch.as<T>() + place : nullptr;
  T* sum = branch != nullptr ? op.sum.as<T>() + place : nullptr;
  DropoutRun dropout(op.dropout, place);
  const float squares =
      add_row(input, branch, op.dropout.rate > 0 ? &dropout : nullptr, width, sum);
  const float rstd = reciprocal_rms(squares, width, op.epsilon);
  op.rstd.as<float>()[row] = rstd;
  scale_row(branch != nullptr ? sum : input, rstd, op.weight.as<W>(), width,
            op.out.as<T>() + place);
}

template <class T, class W>
void norm_again_row(const NormAgain& op, std::int64_t row) {
  const std::int64_t width = op.x.shape[1];
  scale_row(op.x.as<T>() + row * width, op.rstd.as<float>()[row], op.weight.as<W>(), width,
            op.out.as<T>() + row * width);
}

/// The gradient at the sum of one row, and its share of the weight's.
template <class T, class W>
void norm_backward_row(const AddNormBackward& op, std::int64_t row, float* d_weight) {
  const std::int64_t width = op.sum.shape[1];
  const std::int64_t place = row * width;
  const T* d_residual = op.d_residual.present() ? op.d_residual.as<T>() + place : nullptr;
  T* d_sum = op.d_sum.as<T>() + place;
  T* d_branch = op.d_branch.present() ? op.d_branch.as<T>() + place : nullptr;
  DropoutRun dropout(op.dropout, place);
  row_norm_backward(op.sum.as<T>() + place, op.weight.as<W>(), op.rstd.as<float>()[row], width,
                    op.d_out.as<T>() + place, d_residual, d_weight,
                    [&](FloatVector d, std::int64_t i, std::int64_t left) HWY_ATTR {
                      store_up_to(d, d_sum + i, left);
                      if (d_branch == nullptr) return;
                      const FloatVector factor = dropout.next(std::min(kLanes, left));
                      store_up_to(hn::Mul(d, factor), d_branch + i, left);
                    });
}

template <class T>
void add_columns(Context& context, const T* from, std::int64_t rows, const Tensor& to) {
  constexpr std::int64_t kColumns = 4 * kLanes;
  const std::int64_t columns = to.elements();
  context.pool().parallel_for((columns + kColumns - 1) / kColumns, [&](std::int64_t task) {
    for (std::int64_t c = task * kColumns; c < std::min(columns, (task + 1) * kColumns);
         c += kLanes) {
      FloatVector sum = set(0);
      for (std::int64_t row = 0; row < rows; ++row)
        sum = hn::Add(sum, load_up_to(from + row * columns + c, columns - c));
      with_type_of(to, [&](auto* type) HWY_ATTR {
        auto* place = to.as<std::remove_pointer_t<decltype(type)>>() + c;
        store_up_to(hn::Add(load_up_to(place, columns - c), sum), place, columns - c);
      });
    }
  });
}

}  // namespace

void add_norm_for_target(Context& context, const AddNorm& op) {
  with_types_of(op.input, op.weight, [&]<class T, class W>(T*, W*) {
    for_each_row(context, op.input.rows(), [&](std::int64_t row) { add_norm_row<T, W>(op, row); });
  });
}

void norm_again_for_target(Context& context, const NormAgain& op) {
  with_types_of(op.x, op.weight, [&]<class T, class W>(T*, W*) {
    for_each_row(context, op.x.rows(), [&](std::int64_t row) { norm_again_row<T, W>(op, row); });
  });
}

void add_norm_backward_for_target(Context& context, const AddNormBackward& op) {
  const std::int64_t rows = op.sum.rows();
  const std::int64_t width = op.sum.shape[1];
  float* parts = op.scratch.as<float>();
  with_types_of(op.sum, op.weight, [&]<class T, class W>(T*, W*) {
    context.pool().parallel_for(kReductionParts, [&](std::int64_t part) {
      float* d_weight = parts + part * width;
      std::fill_n(d_weight, width, 0.0F);
      const std::int64_t end = (part + 1) * rows / kReductionParts;
      for (std::int64_t row = part * rows / kReductionParts; row < end; ++row)
        norm_backward_row<T, W>(op, row, d_weight);
    });
  });
  if (op.d_weight.present()) add_column_sums(context, op.scratch, op.d_weight);
}

/// Columns are the tasks: each adds its rows in order, reading whole cache lines.
void add_column_sums_for_target(Context& context, const Tensor& from, const Tensor& to) {
  with_type_of(from, [&]<class T>(T*) { add_columns(context, from.as<T>(), from.rows(), to); });
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
