// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <limits>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/card_traits.h"
#include "engine/session/run_spec.h"
#include "engine/train/train_plan.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/support/expect_error.h"
#include "tests/support/in_arena.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

using cuda::EmulatedCard;

#ifdef ATHANOR_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

#ifdef ATHANOR_EMULATION_TSAN
constexpr const char* kToo_slow =
    "ThreadSanitizer keeps a fiber for each CUDA thread; it judges every kernel in other tests";
#endif

/// As on a card with FP8, and in it.
TrainConfig in_fp8(TrainConfig train, std::int64_t steps) {
  train.steps = steps;
  train.evaluation_interval = 0;
  train.checkpoint_interval = 0;
  train.evaluation_tokens = 256;
  train.products = Products::fp8;
  return suited_to(cuda::card_traits(cuda::kFirst_fp8), train);
}

/// Widths and rows that FP8 has products of, and all kinds of operations.
ModelConfig small_model() {
  ModelConfig model = tiny_model();
  model.width = 64;
  model.heads = 2;
  model.kv_heads = 1;
  model.ffn = 96;
  model.qk_norm = true;
  model.dropout = 0.1;
  return model;
}

/// How far a run in FP8 may lie from the same in BF16 at each step.
///
/// A number that is rounded to E4M3 errs by at most 2⁻⁴ of itself, evenly spread, so by u = 2⁻⁴/√3
/// in the mean of squares. A product's factors are both rounded: it errs by u·√2 of its size, the
/// four products of each of L layers, independently, by s = u·√(2·4·L) of the residual stream's,
/// and of the logits', ℓ. A token's loss moves by at most √2 of that, the gradient's length for one
/// logit, and the mean over N tokens by √2·s·ℓ/√N; four times that covers the worst of a few steps.
/// On the way back as many products err likewise, so that gradients err by e = √2·s of their size,
/// in directions of their own: a step then gains cos(arctan e), about 1 − e²/2, of what it would.
/// What was gained up to a step may be less, or by chance more, by s² of it.
double tolerance(const ModelConfig& model, const TrainConfig& train, double first, double now) {
  const double rounding = 0x1p-4 / std::sqrt(3.0);
  const double share = rounding * std::sqrt(2.0 * 4 * static_cast<double>(model.layers));
  // The first loss lies above log V by half the logits' variance.
  const double logits =
      std::sqrt(std::max(0.0, 2 * (first - std::log(static_cast<double>(model.vocabulary)))));
  const auto tokens = static_cast<double>(train.tokens_per_step(model.context));
  return 4 * std::sqrt(2.0) * share * std::max(logits, 1.0) / std::sqrt(tokens) +
         share * share * std::abs(first - now);
}

/// The largest difference as a share of what is allowed.
double worst_share(const ModelConfig& model, const TrainConfig& train, const std::vector<double>& a,
                   const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]) / tolerance(model, train, b[0], b[i]));
  return worst;
}

}  // namespace

/// FP8 on an emulated card: what the table of operations does not say, and whole training steps.
class TestCudaFp8 : public QObject {
  Q_OBJECT

 private slots:
  void what_is_not_finite_spreads_data();
  void what_is_not_finite_spreads();
  void other_extents_are_multiplied_in_bf16();
  void spark_learns_as_in_bf16();
  void offloading_and_recomputing_keep_the_bits();
  void weights_are_quantised_once_a_step();
  void planned_bytes_are_allocated_bytes();
  void what_a_model_has_no_product_of_is_said();
  void other_devices_refuse();

 private:
  std::vector<double> losses(Backend& backend, const ModelConfig& model,
                             const TrainConfig& train) const {
    Trainer trainer(data_.inputs(model, train), backend);
    return losses_of(trainer);
  }

  const TinyData data_;
};

void TestCudaFp8::what_is_not_finite_spreads_data() {
  QTest::addColumn<double>("value");
  QTest::newRow("infinity") << -std::numeric_limits<double>::infinity();
  QTest::newRow("not a number") << std::numeric_limits<double>::quiet_NaN();
}

/// A number that is not finite may not be saturated to one that is: the run must stop.
void TestCudaFp8::what_is_not_finite_spreads() {
  QFETCH(const double, value);
  constexpr std::int64_t kExtent = 16;
  const Shape shape{kExtent, kExtent};
  EmulatedCard card;
  Arena arena(std::int64_t{64} << 20);
  card.backend->use_workspace(
      arena.take(MemoryRole::workspace, DType::u8, {cuda::card_traits().workspace_bytes}));
  const auto matrix = [&](const Tensor& x) {
    const Tensor peak = zero_tensor(arena, DType::f32, {1});
    const Fp8 made{.codes = zero_tensor(arena, DType::u8, shape),
                   .scale = zero_tensor(arena, DType::f32, {1})};
    card.backend->run(Peak{.x = x, .peak = peak});
    card.backend->run(
        Quantise{.x = x, .peak = peak, .codes = made.codes, .transposed = {}, .scale = made.scale});
    return made;
  };
  const Tensor x = random_tensor(arena, DType::bf16, shape, 1);
  const Tensor weight = random_tensor(arena, DType::bf16, shape, 2);
  set_value(x, 5, value);
  const Tensor y = zero_tensor(arena, DType::bf16, shape);
  card.backend->run(LinearFp8{.in_rows_type = {.x = x, .weight = weight, .bias = {}, .y = y},
                              .x = matrix(x),
                              .weight = matrix(weight)});
  for (std::int64_t i = 0; i < y.elements(); ++i)
    QVERIFY(std::isnan(value_at(y, i)));
}

void TestCudaFp8::other_extents_are_multiplied_in_bf16() {
  constexpr std::int64_t kRows = 16;
  constexpr std::int64_t kIn = 24;
  constexpr std::int64_t kOut = 32;
  EmulatedCard card;
  Arena arena(std::int64_t{64} << 20);
  card.backend->use_workspace(
      arena.take(MemoryRole::workspace, DType::u8, {cuda::card_traits().workspace_bytes}));
  const Linear as{.x = random_tensor(arena, DType::bf16, {kRows, kIn}, 1),
                  .weight = random_tensor(arena, DType::bf16, {kOut, kIn}, 2),
                  .bias = {},
                  .y = zero_tensor(arena, DType::bf16, {kRows, kOut})};
  Linear other = as;
  other.y = zero_tensor(arena, DType::bf16, as.y.shape);
  // Codes of zeros: who uses them gets nothing else.
  const auto zeros = [&](Shape shape) {
    return Fp8{.codes = zero_tensor(arena, DType::u8, shape),
               .scale = zero_tensor(arena, DType::f32, {1})};
  };
  QVERIFY(card.backend->take_notice().empty());
  card.backend->run(as);
  card.backend->run(
      LinearFp8{.in_rows_type = other, .x = zeros({kRows, kIn}), .weight = zeros({kOut, kIn})});
  QVERIFY(same_bytes(other.y, as.y));
  QCOMPARE(card.backend->take_notice(),
           std::string("Products of 16 tokens' 24 numbers by 32 rows of weights are made in BF16: "
                       "FP8 needs multiples of 16."));
  card.backend->run(
      LinearFp8{.in_rows_type = other, .x = zeros({kRows, kIn}), .weight = zeros({kOut, kIn})});
  QVERIFY(card.backend->take_notice().empty());
}

void TestCudaFp8::spark_learns_as_in_bf16() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const RunSpec spec = preset("spark").spec;
  TrainConfig train = in_fp8(spec.train, kSanitized ? 1 : 6);
  train.micro_batch = kSanitized ? 1 : 2;
  TrainConfig plain = train;
  plain.products = Products::as_stored;
  const std::vector<double> expected = losses(*make_cpu_backend(0), spec.model, plain);
  const std::vector<double> got = losses(*EmulatedCard().backend, spec.model, train);
  const double share = worst_share(spec.model, train, got, expected);
  qInfo("worst difference %.3f of the tolerance; loss %.6f, in BF16 %.6f", share, got.back(),
        expected.back());
  QVERIFY(got != expected);
  QVERIFY(share <= 1);
  if (kSanitized) return;
  // The comparison must notice a step that is a quarter too long.
  plain.learning_rate *= 1.25;
  QVERIFY(worst_share(spec.model, train, losses(*make_cpu_backend(0), spec.model, plain),
                      expected) > 1);
}

void TestCudaFp8::offloading_and_recomputing_keep_the_bits() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const ModelConfig model = small_model();
  TrainConfig train = in_fp8(tiny_train(2), 2);
  train.micro_batch = 1;
  train.gradient_accumulation = 2;
  const std::vector<double> expected = losses(*EmulatedCard().backend, model, train);
  QCOMPARE(losses(*EmulatedCard().backend, model, train), expected);
  // Of the two layers one is a level further: all levels in half the runs.
  for (std::int64_t level = 0; level < kKeepLevels; level += kSanitized ? 6 : 2) {
    TrainConfig other = train;
    other.recompute_level = level;
    other.recompute_further_layers = 1;
    other.offload_moments = other.offload_master = other.offload_gradients = level % 4 == 2;
    QCOMPARE(losses(*EmulatedCard().backend, model, other), expected);
  }
}

void TestCudaFp8::weights_are_quantised_once_a_step() {
  const ModelConfig model = small_model();
  TrainConfig train = in_fp8(tiny_train(1), 1);
  train.gradient_accumulation = 3;
  const BackendTraits traits = cuda::card_traits(cuda::kFirst_fp8);
  const auto calls = [&](Operation operation) {
    return plan_training(model, train, traits)
        .step_costs[static_cast<std::size_t>(operation)]
        .calls;
  };
  const std::int64_t products = 4 * model.layers;
  // Of each product once a step its weights; each time its input, and to go back gradient, input
  // and weights.
  QCOMPARE(calls(Operation::quantise), products + 3 * 4 * products);
  QCOMPARE(calls(Operation::linear_fp8), 3 * products);
  QCOMPARE(calls(Operation::linear_backward_fp8), 3 * products);
  QCOMPARE(calls(Operation::linear), 0);
}

void TestCudaFp8::planned_bytes_are_allocated_bytes() {
  EmulatedCard card;
  const ModelConfig model = small_model();
  const TrainConfig train = in_fp8(tiny_train(1), 1);
  const BackendTraits traits = cuda::card_traits(cuda::kFirst_fp8);
  const TrainPlan plan = plan_training(model, train, traits);
  const Trainer trainer(data_.inputs(model, train), *card.backend);
  QCOMPARE(card.runtime->allocated_bytes(), plan.memory.peak_bytes);
  // One byte more for each parameter of a layer.
  const auto codes = std::ranges::find_if(plan.buffers, [](const Arena::Record& record) {
    return record.name.text() == "weights in FP8";
  });
  QVERIFY(codes != plan.buffers.end());
  const ParameterTable table(model);
  QCOMPARE(codes->size_bytes, model.layers * table.range_of_layer(0).elements);
}

void TestCudaFp8::what_a_model_has_no_product_of_is_said() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  ModelConfig model = small_model();
  model.ffn = 40;
  const TrainConfig train = in_fp8(tiny_train(1), 1);
  EmulatedCard card;
  const std::vector<double> got = losses(*card.backend, model, train);
  QVERIFY(std::isfinite(got.back()));
  QVERIFY(card.backend->take_notice().find("BF16") != std::string::npos);
}

void TestCudaFp8::other_devices_refuse() {
  const ModelConfig model = small_model();
  const TrainConfig train = in_fp8(tiny_train(1), 1);
  const auto start = [&](Backend& backend) {
    const Trainer trainer(data_.inputs(model, train), backend);
  };
  EmulatedCard older(std::int64_t{1} << 40, 8.6);
  ATHANOR_EXPECT_ERROR(start(*older.backend), ErrorKind::invalid_argument, "8.9");
  ATHANOR_EXPECT_ERROR(start(*make_cpu_backend(1)), ErrorKind::invalid_argument, "8.9");
  ATHANOR_EXPECT_ERROR(plan_training(model, train, BackendTraits()), ErrorKind::invalid_argument,
                       "train.products");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCudaFp8)
#include "test_cuda_fp8.moc"
