// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/gpu/card_check.h"

#include <exception>

#include "engine/base/error.h"
#include "tests/engine/backend/rounded_reference.h"

namespace athanor {
namespace {

constexpr std::int64_t kCard_arena_bytes = std::int64_t{256} << 20;
constexpr std::int64_t kMachine_arena_bytes = std::int64_t{16} << 20;

/// A card stores rows and weights in bf16, gradients of weights as it is told.
constexpr RealTypes kF32_gradients{
    .rows = DType::bf16, .weights = DType::bf16, .operands = DType::bf16};
constexpr RealTypes kBf16_gradients{
    .rows = DType::bf16, .weights = DType::bf16, .gradients = DType::bf16, .operands = DType::bf16};

std::string text_of(const std::exception& problem) {
  const auto* error = dynamic_cast<const Error*>(&problem);
  const bool more = error != nullptr && !error->context().empty();
  return problem.what() + (more ? " (" + error->context() + ")" : std::string());
}

}  // namespace

std::string CaseResult::problem() const {
  if (!error.empty()) return error;
  if (!same_bits) return "run again, it gives other bits";
  return deviation.share <= 1 ? "" : deviation.place;
}

CardCheck::CardCheck(Backend& backend, const std::filesystem::path& folder)
    : backend_(backend),
      card_(backend.allocate(kCard_arena_bytes)),
      machine_(backend.allocate_host(folder, kMachine_arena_bytes)) {
  backend_.use_workspace(
      card_.take(MemoryRole::workspace, DType::u8, {backend.traits().workspace_bytes}));
}

std::vector<CaseResult> CardCheck::check(const OperationCase& row) {
  if (!backend_.supports(row.operation, row.head_dim)) return {};
  const ArenaScope scope(own_);
  const AnyOperation source = row.build(own_);
  std::vector<CaseResult> results{check(row, source, kF32_gradients)};
  if (has_reals(source, Kind::gradient)) {
    results.push_back(check(row, source, kBf16_gradients));
    results.back().name += ", bf16 gradients";
  }
  return results;
}

CaseResult CardCheck::check(const OperationCase& row, const AnyOperation& source,
                            const RealTypes& types) {
  CaseResult result{.name = row.name, .operation = row.operation, .deviation = {}, .error = {}};
  const ArenaScope own(own_);
  const ArenaScope card(card_);
  const ArenaScope machine(machine_);
  try {
    const AnyOperation given = copy_operation(source, own_, types);
    AnyOperation first = copy_operation(source, own_, types);
    AnyOperation again = copy_operation(source, own_, types);
    StagedOperation on_card(given, backend_, arenas());
    on_card.run();
    on_card.fetch(first);
    StagedOperation once_more(given, backend_, arenas());
    once_more.run();
    once_more.fetch(again);
    result.same_bits = same_bits(first, again);
    compare_with_reference(result, given, first, on_card, row.gain);
  } catch (const std::exception& problem) {
    result.error = text_of(problem);
  }
  return result;
}

void CardCheck::compare_with_reference(CaseResult& result, const AnyOperation& given,
                                       const AnyOperation& got, const StagedOperation& on_card,
                                       double gain) {
  // By way of the tested types, so that both see the same rounded inputs.
  AnyOperation expected = copy_operation(given, own_, RealTypes::all(DType::f64));
  // Of the very tensors on the card: a product's way may depend on where they lie.
  const MakeLogits make_logits = [&](std::int64_t first, std::int64_t count, const Tensor& to) {
    const auto& op = std::get<HeadLoss>(on_card.operation());
    const Tensor logits = op.logits.slice_rows(0, count);
    backend_.run(
        Linear{.x = op.x.slice_rows(first, count), .weight = op.weight, .bias = {}, .y = logits});
    backend_.download(to.byte_span(), logits);
  };
  execute_rounded_reference(expected, got, make_logits, own_);
  result.deviation = compare(got, expected, gain, Arithmetic::tensor_cores);
}

}  // namespace athanor
