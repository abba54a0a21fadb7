// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/cpu/gemm.h"
#include "engine/backend/cpu/kernels.h"
#include "engine/backend/cpu/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backend/cpu/lora.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "engine/backend/cpu/bf16-inl.h"
#include "engine/backend/cpu/dropout-inl.h"

HWY_BEFORE_NAMESPACE();
namespace athanor::cpu::HWY_NAMESPACE {

namespace {

/// to = dropout(from), or added to it, of one row.
template <bool kAdd, class T>
void drop_row(const Dropout& dropout, std::int64_t place, std::int64_t width, const T* from,
              T* to) {
  DropoutRun factors(dropout, place);
  for (std::int64_t i = 0; i < width; i += kLanes) {
    const std::int64_t left = width - i;
    const FloatVector kept =
        hn::Mul(load_up_to(from + place + i, left), factors.next(std::min(kLanes, left)));
    T* at = to + place + i;
    store_up_to(kAdd ? hn::Add(load_up_to(at, left), kept) : kept, at, left);
  }
}

}  // namespace

void drop_for_target(Context& context, const Dropout& dropout, const Tensor& from, const Tensor& to,
                     bool add) {
  const std::int64_t width = from.row_elements();
  with_type_of(from, [&]<class T>(T*) {
    for_each_row(context, from.rows(), [&](std::int64_t row) {
      const auto drop = add ? drop_row<true, T> : drop_row<false, T>;
      drop(dropout, row * width, width, from.as<T>(), to.as<T>());
    });
  });
}

}  // namespace athanor::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace athanor::cpu {

HWY_EXPORT(drop_for_target);

namespace {

void drop(Context& context, const Dropout& dropout, const Tensor& from, const Tensor& to,
          bool add) {
  HWY_DYNAMIC_DISPATCH(drop_for_target)(context, dropout, from, to, add);
}

Operand stored(const Tensor& matrix, bool transposed = false) {
  return {matrix, matrix.row_elements(), transposed};
}

/// c = a · b, of the extents that c and a have.
Product product_of(const Operand& a, const Operand& b, std::int64_t depth, const Tensor& c) {
  return {.rows = c.rows(),
          .columns = c.row_elements(),
          .depth = depth,
          .a = a,
          .b = b,
          .c = c,
          .c_stride = c.row_elements()};
}

}  // namespace

void lora(Context& context, const Lora& op) {
  const bool drops = op.dropout.rate > 0;
  if (drops) drop(context, op.dropout, op.x, op.dropped, false);
  const Tensor& x = drops ? op.dropped : op.x;
  Product down = product_of(stored(x), stored(op.a, true), x.row_elements(), op.h);
  down.factor = op.scale;
  multiply(context, down);
  if (!op.y.present()) return;
  multiply(context, {.rows = op.y.rows(),
                     .columns = op.b.rows(),
                     .depth = op.h.row_elements(),
                     .a = stored(op.h),
                     .b = stored(op.b, true),
                     .c = Reals(op.y).from(op.first_column),
                     .c_stride = op.y.row_elements(),
                     .accumulate = true});
}

void lora_backward(Context& context, const LoraBackward& op) {
  const bool drops = op.dropout.rate > 0;
  const std::int64_t rows = op.x.rows();
  Operand d_y{Reals(op.d_y).from(op.first_column), op.d_y.row_elements()};
  Product d_h = product_of(d_y, stored(op.b), op.b.rows(), op.d_h);
  d_h.factor = op.scale;
  multiply(context, d_h);
  d_y.transposed = true;
  Product d_b = product_of(d_y, stored(op.h), rows, op.d_b);
  d_b.accumulate = true;
  multiply(context, d_b);
  if (drops) drop(context, op.dropout, op.x, op.dropped, false);
  Product d_a = product_of(stored(op.d_h, true), stored(drops ? op.dropped : op.x), rows, op.d_a);
  d_a.accumulate = true;
  multiply(context, d_a);
  if (!op.d_x.present()) return;
  Product d_x =
      product_of(stored(op.d_h), stored(op.a), op.d_h.row_elements(), drops ? op.dropped : op.d_x);
  d_x.accumulate = !drops;
  multiply(context, d_x);
  if (drops) drop(context, op.dropout, op.dropped, op.d_x, true);
}

}  // namespace athanor::cpu
#endif
