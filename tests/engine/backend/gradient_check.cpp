// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/backend/gradient_check.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "engine/backend/numbers_in_memory.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

/// An argument of the forward operation and where the backward operation puts its gradient.
struct Pair {
  std::string name;
  Tensor variable;
  Tensor gradient;
};

/// The forward operation as a function of its arguments: loss() reads the variables where they lie.
struct Problem {
  std::function<double()> loss;
  std::vector<Pair> pairs;
};

double inner_product(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    sum += a.as<double>()[i] * b.as<double>()[i];
  return sum;
}

Tensor space_like(Arena& arena, const Tensor& tensor) {
  return zero_tensor(arena, tensor.dtype, tensor.shape);
}

Tensor duplicate(Arena& arena, const Tensor& tensor) {
  const Tensor copy = space_like(arena, tensor);
  copy_values(copy, tensor);
  return copy;
}

/// Operations without gradients.
template <class Op>
Problem problem_of(const Op&, Arena&, ReferenceBackend&) {
  return {};
}

Problem problem_of(const EmbeddingBackward& op, Arena& arena, ReferenceBackend& backend) {
  const Embedding forward{.table = random_tensor(arena, DType::f64, op.d_table.shape, 900),
                          .tokens = op.tokens,
                          .out = space_like(arena, op.d_out)};
  return {[=, &backend] {
            backend.run(forward);
            return inner_product(op.d_out, forward.out);
          },
          {{"d_table", forward.table, op.d_table}}};
}

Problem problem_of(const AddNormBackward& op, Arena& arena, ReferenceBackend& backend) {
  // Copies of what d_sum may overwrite.
  const AddNorm forward{.input = duplicate(arena, op.sum),
                        .branch = space_like(arena, op.sum),
                        .dropout = op.dropout,
                        .weight = op.weight,
                        .sum = space_like(arena, op.sum),
                        .out = space_like(arena, op.d_out),
                        .rstd = space_like(arena, op.rstd)};
  const Tensor d_residual =
      op.d_residual.present() ? duplicate(arena, op.d_residual) : space_like(arena, op.sum);
  Problem problem{[=, &backend] {
                    backend.run(forward);
                    return inner_product(op.d_out, forward.out) +
                           inner_product(d_residual, forward.sum);
                  },
                  {{"d_sum", forward.input, op.d_sum}}};
  if (op.d_weight.present()) problem.pairs.push_back({"d_weight", op.weight, op.d_weight});
  if (op.d_branch.present()) problem.pairs.push_back({"d_branch", forward.branch, op.d_branch});
  return problem;
}

Problem problem_of(const LinearBackward& op, Arena& arena, ReferenceBackend& backend) {
  const Linear forward{.x = op.x,
                       .weight = op.weight,
                       .bias = zero_tensor(arena, DType::f64, {op.weight.rows()}),
                       .y = space_like(arena, op.d_y)};
  Problem problem{[=, &backend] {
                    backend.run(forward);
                    return inner_product(op.d_y, forward.y);
                  },
                  {}};
  if (op.d_weight.present()) problem.pairs.push_back({"d_weight", op.weight, op.d_weight});
  if (op.gelu_pre.present()) {
    const MlpActivation gelu{
        .activation = Activation::gelu, .pre = op.gelu_pre, .out = space_like(arena, op.x)};
    const Linear after{.x = gelu.out, .weight = op.weight, .bias = forward.bias, .y = forward.y};
    problem.loss = [=, &backend] {
      backend.run(gelu);
      backend.run(after);
      return inner_product(op.d_y, forward.y);
    };
    problem.pairs.push_back({"d_x", op.gelu_pre, op.d_x});
  } else if (op.d_x.present()) {
    problem.pairs.push_back({"d_x", op.x, op.d_x});
  }
  if (op.d_bias.present()) problem.pairs.push_back({"d_bias", forward.bias, op.d_bias});
  return problem;
}

Problem problem_of(const QuantisedLinearBackward& op, Arena& arena, ReferenceBackend& backend) {
  const QuantisedLinear forward{.x = random_tensor(arena, DType::f64, op.d_x.shape, 902),
                                .weight = op.weight,
                                .bias = {},
                                .y = space_like(arena, op.d_y),
                                .scratch = {}};
  return {[=, &backend] {
            backend.run(forward);
            return inner_product(op.d_y, forward.y);
          },
          {{"d_x", forward.x, op.d_x}}};
}

Problem problem_of(const LoraBackward& op, Arena& arena, ReferenceBackend& backend) {
  Lora forward{.x = op.x,
               .dropout = op.dropout,
               .dropped = {},
               .a = op.a,
               .b = op.b,
               .scale = op.scale,
               .h = space_like(arena, op.h),
               .y = space_like(arena, op.d_y),
               .first_column = op.first_column};
  if (op.dropped.present()) forward.dropped = space_like(arena, op.dropped);
  Problem problem{[=, &backend] {
                    fill(forward.y, 0);
                    backend.run(forward);
                    return inner_product(op.d_y, forward.y);
                  },
                  {{"d_a", op.a, op.d_a}, {"d_b", op.b, op.d_b}}};
  if (op.d_x.present()) problem.pairs.push_back({"d_x", op.x, op.d_x});
  return problem;
}

Problem problem_of(const QkNormBackward& op, Arena& arena, ReferenceBackend& backend) {
  const QkNorm forward{.shape = op.shape,
                       .qkv = op.qkv,
                       .q_weight = op.q_weight,
                       .k_weight = op.k_weight,
                       .out = space_like(arena, op.qkv),
                       .rstd = space_like(arena, op.rstd)};
  const Tensor d_out = duplicate(arena, op.d_qkv);
  Problem problem{[=, &backend] {
                    backend.run(forward);
                    return inner_product(d_out, forward.out);
                  },
                  {{"d_qkv", op.qkv, op.d_qkv}}};
  if (op.d_q_weight.present()) {
    problem.pairs.push_back({"d_q_weight", op.q_weight, op.d_q_weight});
    problem.pairs.push_back({"d_k_weight", op.k_weight, op.d_k_weight});
  }
  return problem;
}

Problem problem_of(const Rope& op, Arena& arena, ReferenceBackend& backend) {
  if (!op.inverse) return {};
  const Tensor variable = random_tensor(arena, DType::f64, op.qkv.shape, 901);
  const Tensor d_out = duplicate(arena, op.qkv);
  Rope forward = op;
  forward.qkv = space_like(arena, op.qkv);
  forward.inverse = false;
  return {[=, &backend] {
            copy_values(forward.qkv, variable);
            backend.run(forward);
            return inner_product(d_out, forward.qkv);
          },
          {{"qkv", variable, op.qkv}}};
}

Problem problem_of(const AttentionBackward& op, Arena& arena, ReferenceBackend& backend) {
  const Attention forward{.shape = op.shape,
                          .qkv = op.qkv,
                          .document_starts = op.document_starts,
                          .out = space_like(arena, op.out),
                          .lse = space_like(arena, op.lse)};
  return {[=, &backend] {
            backend.run(forward);
            return inner_product(op.d_out, forward.out);
          },
          {{"d_qkv", op.qkv, op.d_qkv}}};
}

Problem problem_of(const MlpActivationBackward& op, Arena& arena, ReferenceBackend& backend) {
  // A copy, since d_pre may overwrite it.
  const MlpActivation forward{.activation = op.activation,
                              .pre = duplicate(arena, op.pre),
                              .out = space_like(arena, op.d_out)};
  return {[=, &backend] {
            backend.run(forward);
            return inner_product(op.d_out, forward.out);
          },
          {{"d_pre", forward.pre, op.d_pre}}};
}

Problem problem_of(const HeadLoss& op, Arena&, ReferenceBackend& backend) {
  if (!op.d_x.present()) return {};
  HeadLoss forward = op;
  forward.d_x = {};
  forward.d_weight = {};
  Problem problem{[=, &backend] {
                    backend.run(forward);
                    double sum = 0;
                    for (std::int64_t row = 0; row < op.losses.elements(); ++row) {
                      const double factor =
                          op.row_factors.present() ? value_at(op.row_factors, row) : 1;
                      sum += factor * value_at(op.losses, row);
                    }
                    return gradient_scale_of(op) * sum;
                  },
                  {{"d_x", op.x, op.d_x}}};
  if (op.d_weight.present()) problem.pairs.push_back({"d_weight", op.weight, op.d_weight});
  return problem;
}

Problem problem_of_any(const AnyOperation& operation, Arena& arena, ReferenceBackend& backend) {
  return std::visit([&](const auto& op) { return problem_of(op, arena, backend); }, operation);
}

/// The gradients are to stand alone: what an operation adds to starts at zero. In-place gradients
/// hold their input and stay.
void zero_accumulated(AnyOperation& operation) {
  const auto clear = [](const std::string& name, const Tensor& tensor, Kind, Use use,
                        std::int64_t) {
    const bool in_place = name == "d_qkv" || name == "qkv";
    if (use == Use::changed && tensor.present() && !in_place) fill(tensor, 0);
  };
  std::visit([&](auto& op) { visit_tensors(op, clear); }, operation);
}

/// The slope of the loss along `direction` from the variable's present place.
double central_difference(const Problem& problem, const Tensor& variable, const Tensor& origin,
                          const Tensor& direction, double step) {
  double losses[2] = {};
  for (const int side : {0, 1}) {
    const double signed_step = side == 0 ? -step : step;
    for (std::int64_t i = 0; i < variable.elements(); ++i) {
      set_value(variable, i, value_at(origin, i) + signed_step * value_at(direction, i));
    }
    losses[side] = problem.loss();
  }
  copy_values(variable, origin);
  return (losses[1] - losses[0]) / (2 * step);
}

void check_pair(const Problem& problem, const Pair& pair, double gain, Arena& arena,
                GradientDeviation& worst) {
  constexpr std::int64_t kEach_element_below = 40;
  constexpr std::int64_t kDirections = 4;
  const Tensor origin = duplicate(arena, pair.variable);
  const std::int64_t elements = pair.variable.elements();
  const bool each = elements < kEach_element_below;
  const std::int64_t directions = each ? elements : kDirections;
  double scale = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    scale = std::max(scale, std::abs(value_at(pair.gradient, i)));
  }
  worst.scale = std::max(worst.scale, scale);
  // A random direction's slope is about √elements times a typical element's.
  if (!each) scale *= std::sqrt(static_cast<double>(elements));
  for (std::int64_t number = 0; number < directions; ++number) {
    const ArenaScope scope(arena);
    const Tensor direction = random_tensor(arena, DType::f64, pair.variable.shape,
                                           1000 + static_cast<std::uint64_t>(number), each ? 0 : 1);
    if (each) set_value(direction, number, 1);
    const double slope = central_difference(problem, pair.variable, origin, direction, 1e-5 / gain);
    const double claimed = inner_product(pair.gradient, direction);
    const double error = std::abs(slope - claimed);
    if (error == 0) continue;
    const double relative = error / std::max(scale, std::abs(slope));
    if (relative <= worst.relative) continue;
    worst.relative = relative;
    worst.place = pair.name + (each ? " at element " : " along direction ") +
                  std::to_string(number) + ": " + std::to_string(claimed) + " instead of " +
                  std::to_string(slope);
  }
}

}  // namespace

bool computes_gradients(const AnyOperation& operation) {
  if (const Rope* rope = std::get_if<Rope>(&operation)) return rope->inverse;
  if (const HeadLoss* head = std::get_if<HeadLoss>(&operation)) return head->d_x.present();
  return std::holds_alternative<EmbeddingBackward>(operation) ||
         std::holds_alternative<AddNormBackward>(operation) ||
         std::holds_alternative<LinearBackward>(operation) ||
         std::holds_alternative<QuantisedLinearBackward>(operation) ||
         std::holds_alternative<LoraBackward>(operation) ||
         std::holds_alternative<QkNormBackward>(operation) ||
         std::holds_alternative<AttentionBackward>(operation) ||
         std::holds_alternative<MlpActivationBackward>(operation);
}

GradientDeviation check_gradients(const OperationCase& row, Arena& arena, double fault) {
  ReferenceBackend backend;
  AnyOperation operation = row.build(arena);
  const Problem problem = problem_of_any(operation, arena, backend);
  zero_accumulated(operation);
  execute(backend, operation);
  GradientDeviation worst;
  for (const Pair& pair : problem.pairs) {
    for (double& gradient : pair.gradient.span<double>())
      gradient *= fault;
    check_pair(problem, pair, row.gain, arena, worst);
  }
  return worst;
}

}  // namespace athanor
