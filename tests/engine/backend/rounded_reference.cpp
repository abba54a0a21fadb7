// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/rounded_reference.h"

#include <algorithm>

#include "tests/engine/backend/case_instance.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

Tensor in_double(const Tensor& tensor, Arena& arena) {
  const Tensor wide = zero_tensor(arena, DType::f64, tensor.shape);
  copy_values(wide, tensor);
  return wide;
}

void norm_of_rounded_sum(const AddNorm& expected, const Tensor& sum, Arena& arena) {
  AddNorm norm = expected;
  norm.input = in_double(sum, arena);
  norm.branch = {};
  norm.sum = {};
  if (norm.peak.present()) set_value(norm.peak, 0, 0);
  ReferenceBackend().run(norm);
}

Tensor rounded_logits(const HeadLoss& op, const MakeLogits& make_logits, Arena& arena) {
  const std::int64_t rows = op.x.rows();
  const Tensor logits = zero_tensor(arena, DType::bf16, {rows, op.weight.rows()});
  for (std::int64_t first = 0; first < rows; first += op.logits.rows()) {
    const std::int64_t count = std::min(op.logits.rows(), rows - first);
    make_logits(first, count, logits.slice_rows(first, count));
  }
  return in_double(logits, arena);
}

}  // namespace

void execute_rounded_reference(AnyOperation& expected, const AnyOperation& actual, Backend& tested,
                               Arena& arena) {
  const MakeLogits make_logits = [&](std::int64_t first, std::int64_t count, const Tensor& to) {
    const auto& op = std::get<HeadLoss>(actual);
    tested.run(
        Linear{.x = op.x.slice_rows(first, count), .weight = op.weight, .bias = {}, .y = to});
  };
  execute_rounded_reference(expected, actual, make_logits, arena);
}

void execute_rounded_reference(AnyOperation& expected, const AnyOperation& actual,
                               const MakeLogits& make_logits, Arena& arena) {
  ReferenceBackend reference;
  const auto* head = std::get_if<HeadLoss>(&actual);
  if (head != nullptr && head->logits.dtype == DType::bf16) {
    reference.run_from_logits(std::get<HeadLoss>(expected),
                              rounded_logits(*head, make_logits, arena));
    return;
  }
  execute(reference, expected);
  const auto* norm = std::get_if<AddNorm>(&actual);
  if (norm != nullptr && norm->sum.present() && norm->sum.dtype == DType::bf16) {
    norm_of_rounded_sum(std::get<AddNorm>(expected), norm->sum, arena);
  }
}

}  // namespace athanor
