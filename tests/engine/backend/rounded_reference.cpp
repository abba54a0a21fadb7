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

/// x as a processor rounded it: codes of 16 bits and, behind them, the scales of their blocks.
Tensor decoded_x(const QuantisedLinear& op, Arena& arena) {
  const Tensor x = zero_tensor(arena, DType::f64, op.x.shape);
  const auto* codes = reinterpret_cast<const std::int16_t*>(op.scratch.data);
  const auto* scales = reinterpret_cast<const float*>(codes + x.elements());
  for (std::int64_t i = 0; i < x.elements(); ++i)
    set_value(x, i, double{scales[i / kBlock_elements]} * codes[i]);
  return x;
}

/// dropout(x) as it is stored: in FP32, rounded to bf16.
Tensor rounded_dropped(const Tensor& x, const Dropout& dropout, Arena& arena) {
  const Tensor dropped = zero_tensor(arena, DType::bf16, x.shape);
  const float scale = 1.0F / (1.0F - dropout.rate);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const bool kept = ReferenceBackend::dropout_factor(dropout, i) > 0;
    set_value(dropped, i, kept ? static_cast<float>(value_at(x, i)) * scale : 0.0F);
  }
  return in_double(dropped, arena);
}

void lora_of_rounded(const Lora& expected, const Lora& actual, Arena& arena) {
  Lora down = expected;
  down.y = {};
  if (expected.dropout.rate > 0) {
    down.x = rounded_dropped(expected.x, expected.dropout, arena);
    down.dropout = {};
  }
  ReferenceBackend().run(down);
  if (expected.y.present()) ReferenceBackend::add_from_h(expected, in_double(actual.h, arena));
}

void lora_backward_of_rounded(const LoraBackward& expected, const LoraBackward& actual,
                              Arena& arena) {
  LoraBackward first = expected;
  first.d_a = zero_tensor(arena, DType::f64, expected.d_a.shape);
  first.d_x = {};
  ReferenceBackend().run(first);
  LoraBackward rest = expected;
  if (expected.dropout.rate > 0) {
    rest.dropped = rounded_dropped(expected.x, expected.dropout, arena);
  }
  ReferenceBackend::add_from_d_h(rest, in_double(actual.d_h, arena));
}

}  // namespace

void execute_rounded_reference(AnyOperation& expected, const AnyOperation& actual, Backend& tested,
                               Arena& arena) {
  const auto* product = std::get_if<QuantisedLinear>(&actual);
  if (product != nullptr && !tested.traits().bf16_only)
    std::get<QuantisedLinear>(expected).x = decoded_x(*product, arena);
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
  const auto* lora = std::get_if<Lora>(&actual);
  if (lora != nullptr && lora->h.dtype == DType::bf16)
    return lora_of_rounded(std::get<Lora>(expected), *lora, arena);
  const auto* lora_backward = std::get_if<LoraBackward>(&actual);
  if (lora_backward != nullptr && lora_backward->d_h.dtype == DType::bf16)
    return lora_backward_of_rounded(std::get<LoraBackward>(expected), *lora_backward, arena);
  execute(reference, expected);
  const auto* norm = std::get_if<AddNorm>(&actual);
  if (norm != nullptr && norm->sum.present() && norm->sum.dtype == DType::bf16) {
    norm_of_rounded_sum(std::get<AddNorm>(expected), norm->sum, arena);
  }
}

}  // namespace athanor
