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
  void attention_counts_the_visible_half();
  void head_loss_passes_three_times_with_gradients();
  void adamw_reads_and_writes_its_state();
  void adamw_8bit_keeps_two_bytes_and_two_scales();
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
