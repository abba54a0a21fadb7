// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/case_variants.h"

#include <algorithm>

#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

/// Each gives what it added to the operation, or nothing where there is nothing to add.
template <class Op>
const char* vary(Op&, Arena&) {
  return nullptr;
}

const char* vary_dropout(Dropout& dropout, Arena& arena) {
  if (dropout.rate == 0) return nullptr;
  // The lower word is large enough to carry into the upper one.
  dropout.stream_base = integer_tensor(arena, {-2, 1});
  return ", stream in memory";
}

const char* vary(AddNorm& op, Arena& arena) {
  return vary_dropout(op.dropout, arena);
}
const char* vary(AddNormBackward& op, Arena& arena) {
  return vary_dropout(op.dropout, arena);
}

const char* vary(HeadLoss& op, Arena& arena) {
  if (!op.d_x.present()) return nullptr;
  op.gradient_factor = zero_tensor(arena, DType::f64, {1});
  fill(op.gradient_factor, 0.75);
  return ", factor in memory";
}

const char* vary(LinearBackward& op, Arena& arena) {
  if (!op.d_x.present()) return nullptr;
  // An output of one element where the slope is almost 0 has no magnitude to judge it by.
  constexpr double kAwayFromThere = 1;
  op.gelu_pre = random_tensor(arena, DType::f64, op.x.shape, 77, 2, kAwayFromThere);
  ReferenceBackend().run(
      MlpActivation{.activation = Activation::gelu, .pre = op.gelu_pre, .out = op.x});
  return ", gelu";
}

/// Of which there are variants.
constexpr Operation kVaried[] = {Operation::add_norm, Operation::add_norm_backward,
                                 Operation::linear_backward, Operation::head_loss};

}  // namespace

void add_variants(std::vector<OperationCase>& cases) {
  Arena arena(kCase_arena_bytes);
  const std::vector<OperationCase> plain = cases;
  for (const OperationCase& row : plain) {
    if (std::ranges::find(kVaried, row.operation) == std::end(kVaried)) continue;
    const ArenaScope scope(arena);
    AnyOperation operation = row.build(arena);
    const char* added = std::visit([&](auto& op) { return vary(op, arena); }, operation);
    if (added == nullptr) continue;
    cases.push_back(row);
    cases.back().name += added;
    cases.back().build = [build = row.build](Arena& in) {
      AnyOperation varied = build(in);
      std::visit([&](auto& op) { vary(op, in); }, varied);
      return varied;
    };
  }
}

}  // namespace athanor
