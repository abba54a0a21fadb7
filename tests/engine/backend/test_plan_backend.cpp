// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/backend/plan/plan_backend.h"
#include "engine/tensor/arena.h"
#include "tests/engine/backend/case_instance.h"
#include "tests/engine/backend/fp8_cases.h"

namespace athanor {
namespace {

Tensor planned(Shape shape, DType dtype = DType::f32) {
  return {nullptr, dtype, shape};
}

constexpr std::int64_t kReal_bytes = 4;

}  // namespace

/// Counts of the dry run, against numbers worked out by hand.
class TestPlanBackend : public QObject {
  Q_OBJECT

 private slots:
  void product_counts_two_operations_a_term();
  void backward_product_counts_what_it_makes();
  void gelu_counts_with_its_product_or_apart();
  void quantised_product_reads_its_blocks_or_widens_them();
  void attention_counts_the_visible_half();
  void head_loss_passes_three_times_with_gradients();
  void adamw_reads_and_writes_its_state();
  void adamw_8bit_keeps_two_bytes_and_two_scales();
  void muon_multiplies_three_times_an_iteration();
  void total_adds_up();
  void counts_every_case();
};

void TestPlanBackend::product_counts_two_operations_a_term() {
  PlanBackend plan;
  plan.run(Linear{planned({3, 5}), planned({7, 5}), planned({7}), planned({3, 7})});
  const OperationCost& cost = plan.cost(Operation::linear);
  QCOMPARE(cost.calls, std::int64_t{1});
  QCOMPARE(cost.flops, 2.0 * 3 * 5 * 7);
  QCOMPARE(cost.bytes, static_cast<double>(kReal_bytes * (3 * 5 + 7 * 5 + 7 + 3 * 7)));
}

void TestPlanBackend::backward_product_counts_what_it_makes() {
  PlanBackend plan;
  LinearBackward op{planned({3, 7}), planned({3, 5}), planned({7, 5}), {}, planned({7, 5}), {}};
  plan.run(op);
  QCOMPARE(plan.cost(Operation::linear_backward).flops, 2.0 * 3 * 5 * 7);
  QCOMPARE(plan.cost(Operation::linear_backward).bytes,
           static_cast<double>(kReal_bytes * (3 * 7 + 3 * 5 + 2 * 7 * 5)));
  op.d_x = planned({3, 5});
  plan.run(op);
  QCOMPARE(plan.cost(Operation::linear_backward).calls, std::int64_t{2});
  QCOMPARE(plan.cost(Operation::linear_backward).flops, 3 * 2.0 * 3 * 5 * 7);
}

void TestPlanBackend::gelu_counts_with_its_product_or_apart() {
  LinearBackward op{.d_y = planned({3, 7}),
                    .x = planned({3, 5}),
                    .weight = planned({7, 5}),
                    .d_x = planned({3, 5}),
                    .d_weight = planned({7, 5}),
                    .d_bias = {}};
  PlanBackend without;
  without.run(op);
  const OperationCost product = without.cost(Operation::linear_backward);
  op.gelu_pre = planned({3, 5});
  const double slope_flops = 16.0 * 3 * 5;
  const auto tensor_bytes = static_cast<double>(kReal_bytes * 3 * 5);

  PlanBackend within({.gelu_in_products = true});
  within.run(op);
  QCOMPARE(within.cost(Operation::linear_backward).flops, product.flops + slope_flops);
  QCOMPARE(within.cost(Operation::linear_backward).bytes, product.bytes + tensor_bytes);
  QCOMPARE(within.cost(Operation::mlp_activation_backward).calls, std::int64_t{0});

  PlanBackend apart;
  apart.run(op);
  QCOMPARE(apart.cost(Operation::linear_backward).flops, product.flops);
  QCOMPARE(apart.cost(Operation::linear_backward).bytes, product.bytes);
  QCOMPARE(apart.cost(Operation::mlp_activation_backward).flops, slope_flops);
  QCOMPARE(apart.cost(Operation::mlp_activation_backward).bytes, 3 * tensor_bytes);
}

void TestPlanBackend::quantised_product_reads_its_blocks_or_widens_them() {
  const QuantisedMatrix weight{.format = BlockFormat::q4_0,
                               .codes = planned({7, 32}, DType::u8),
                               .scales = planned({7, 2}, DType::u16)};
  const BackendTraits traits{.few_quantised_rows = 2};
  PlanBackend plan(traits);
  const auto run = [&](std::int64_t rows) {
    const std::int64_t bytes = quantised_linear_scratch_bytes(traits, rows, 64, 7);
    plan.run(QuantisedLinear{.x = planned({rows, 64}),
                             .weight = weight,
                             .bias = {},
                             .y = planned({rows, 7}),
                             .scratch = planned({bytes}, DType::u8)});
  };
  run(2);
  const double few = static_cast<double>(kReal_bytes * 2 * (64 + 7) + 7 * 2 * 18);
  QCOMPARE(plan.cost(Operation::quantised_linear).bytes, few);
  QCOMPARE(plan.cost(Operation::quantised_linear).flops, 2.0 * 2 * 64 * 7);
  run(3);
  const double many = static_cast<double>(kReal_bytes * 3 * (64 + 7) + 7 * 2 * 18 + 2 * 2 * 7 * 64);
  QCOMPARE(plan.cost(Operation::quantised_linear).bytes, few + many);
}

void TestPlanBackend::attention_counts_the_visible_half() {
  PlanBackend plan;
  const AttentionShape shape{4, 2, 16, 32};
  const std::int64_t rows = 64;
  const Tensor qkv = planned({rows, shape.qkv_width()});
  const Tensor starts = planned({rows}, DType::i32);
  const Tensor out = planned({rows, shape.query_width()});
  const Tensor lse = planned({rows, shape.heads});
  plan.run(Attention{shape, qkv, starts, out, lse});
  const double forward = 64 * 2.0 * 2 * (4 * 16) * 32 / 2;
  QCOMPARE(plan.cost(Operation::attention).flops, forward);
  plan.run(AttentionBackward{shape, qkv, starts, out, lse, out, qkv, lse});
  QCOMPARE(plan.cost(Operation::attention_backward).flops, 2.5 * forward);
}

void TestPlanBackend::head_loss_passes_three_times_with_gradients() {
  PlanBackend without;
  PlanBackend with;
  HeadLoss op{.x = planned({10, 8}),
              .weight = planned({50, 8}),
              .targets = planned({10}, DType::i32),
              .losses = planned({10}),
              .gradient_scale = 1,
              .d_x = {},
              .d_weight = {},
              .logits = planned({4, 50})};
  without.run(op);
  op.d_x = planned({10, 8});
  op.d_weight = planned({50, 8});
  with.run(op);
  QCOMPARE(with.cost(Operation::head_loss).flops - without.cost(Operation::head_loss).flops,
           2 * 2.0 * 10 * 8 * 50);
  QCOMPARE(with.cost(Operation::head_loss).bytes - without.cost(Operation::head_loss).bytes,
           static_cast<double>(kReal_bytes * (10 * 8 + 2 * 50 * 8)));
}

void TestPlanBackend::adamw_reads_and_writes_its_state() {
  PlanBackend plan;
  const Tensor vector = planned({1000});
  plan.run(AdamW{.to = {.weights = vector}, .gradients = vector, .m = vector, .v = vector});
  QCOMPARE(plan.cost(Operation::adamw).bytes, 7.0 * 1000 * kReal_bytes);
}

void TestPlanBackend::adamw_8bit_keeps_two_bytes_and_two_scales() {
  PlanBackend plan;
  const Tensor vector = planned({1000});
  const Tensor codes = planned({1000}, DType::u8);
  const Tensor scales = planned({moment_blocks(1000)});
  plan.run(AdamW8{.to = {.weights = vector},
                  .gradients = vector,
                  .m = codes,
                  .v = codes,
                  .m_scale = scales,
                  .v_scale = scales});
  QCOMPARE(plan.cost(Operation::adamw_8bit).bytes,
           3.0 * 1000 * kReal_bytes + 2 * 2.0 * (1000 + 4 * kReal_bytes));
}

void TestPlanBackend::muon_multiplies_three_times_an_iteration() {
  const auto flops_of = [](std::int64_t rows, std::int64_t columns) {
    PlanBackend plan;
    const Tensor matrix = planned({rows, columns});
    const Tensor gram = planned({10, 10});
    plan.run(Muon{.to = {.weights = matrix},
                  .gradients = matrix,
                  .momentum = matrix,
                  .x = matrix,
                  .next = matrix,
                  .gram = gram,
                  .polynomial = gram,
                  .at = {}});
    return plan.cost(Operation::muon).flops;
  };
  const double products = 5 * 2.0 * (10 * 10 * 30 + 10 * 10 * 10 + 10 * 10 * 30);
  QCOMPARE(flops_of(10, 30), products + 14 * 10 * 30);
  QCOMPARE(flops_of(30, 10), flops_of(10, 30));
}

void TestPlanBackend::total_adds_up() {
  PlanBackend plan;
  plan.run(Linear{planned({3, 5}), planned({7, 5}), {}, planned({3, 7})});
  QCOMPARE(plan.sum_of_squares(planned({100})), 0.0);
  const OperationCost total = plan.total();
  QCOMPARE(total.calls, std::int64_t{2});
  QCOMPARE(total.flops,
           plan.cost(Operation::linear).flops + plan.cost(Operation::sum_of_squares).flops);
  QCOMPARE(total.bytes, plan.cost(Operation::linear).bytes + 100.0 * kReal_bytes);
}

void TestPlanBackend::counts_every_case() {
  Arena arena(kCase_arena_bytes);
  for (const OperationCase& row : cases_for({.fp8 = true})) {
    const ArenaScope scope(arena);
    AnyOperation operation = row.build(arena);
    PlanBackend plan({.compute_type = DType::f64});
    if (const auto* sum = std::get_if<SumOfSquares>(&operation)) {
      plan.sum_of_squares(sum->x);
    } else {
      execute(plan, operation);
    }
    QCOMPARE(plan.cost(row.operation).calls, std::int64_t{1});
    QVERIFY2(plan.cost(row.operation).bytes > 0, row.name.c_str());
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestPlanBackend)
#include "test_plan_backend.moc"
