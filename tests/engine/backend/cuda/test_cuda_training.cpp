// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cuda/card_traits.h"
#include "engine/session/run_spec.h"
#include "engine/train/train_plan.h"
#include "tests/engine/backend/cuda/emulated_card.h"
#include "tests/support/expect_error.h"
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

/// Sanitizers are slow, and find the same in the first step.
constexpr std::int64_t kSteps = kSanitized ? 1 : 5;

TrainConfig quiet(TrainConfig train, std::int64_t steps) {
  train.steps = steps;
  train.evaluation_interval = 0;
  train.checkpoint_interval = 0;
  train.evaluation_tokens = 256;
  return suited_to(cuda::card_traits(), train);
}

std::vector<double> losses_of(const TinyData& data, const ModelConfig& model,
                              const TrainConfig& train, Backend& backend) {
  Trainer trainer(data.inputs(model, train), backend);
  return losses_of(trainer);
}

/// How far two runs of the same bf16 configuration may lie apart at each step.
///
/// They make the same products with FP32 sums and round the same rows of values to bf16, but not
/// always to the same side, and a card rounds attention's probabilities besides. A rounding moves a
/// value by at most u = 2⁻⁹ of it, in either direction; a residual stream that went through R of
/// them differs by about u·√R of its size, and so do the logits: by δ = u·√(2R)·ℓ between the runs,
/// ℓ being the logits' size. A token's loss moves by at most √2·δ, the gradient's length for one
/// logit, and the mean over N tokens, whose roundings are independent, by √2·δ/√N. The gradients
/// differ by the same share u·√(2R), so what a step gains in one run it gains in the other up to
/// that share of it: what was gained up to step k is added with it. Four times all that covers the
/// worst of a few steps.
double tolerance(const ModelConfig& model, const TrainConfig& train, double first, double now) {
  constexpr double kUnit = 0x1p-9;
  // Norms, QKV, rotation, attention, its two products' operands, projections, activation, sums.
  constexpr double kRoundings_a_layer = 11;
  const double share =
      kUnit * std::sqrt(2 * kRoundings_a_layer * static_cast<double>(model.layers));
  // The first loss lies above log V by half the logits' variance.
  const double logits =
      std::sqrt(std::max(0.0, 2 * (first - std::log(static_cast<double>(model.vocabulary)))));
  const auto tokens = static_cast<double>(train.tokens_per_step(model.context));
  return 4 * share *
         (std::sqrt(2.0) * std::max(logits, 1.0) / std::sqrt(tokens) + std::abs(first - now));
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

/// Whole training steps on an emulated card.
class TestCudaTraining : public QObject {
  Q_OBJECT

 private slots:
  void spark_has_the_processors_losses();
  void every_storage_has_the_processors_losses_data();
  void every_storage_has_the_processors_losses();
  void muon_has_the_processors_losses();
  void offloading_and_recomputing_keep_the_bits();
  void planned_bytes_are_allocated_bytes();
  void checkpoints_resume_on_the_card_and_on_the_processor();
  void too_little_memory_is_said();
  void a_lost_card_leaves_the_last_checkpoint();
  void what_a_card_cannot_do_is_said();

 private:
  const TinyData data_;
};

void TestCudaTraining::spark_has_the_processors_losses() {
  const RunSpec spec = preset("spark").spec;
  TrainConfig train = quiet(spec.train, kSteps);
  if (kSanitized) train.micro_batch = 1;
  const std::vector<double> expected = losses_of(data_, spec.model, train, *make_cpu_backend(0));
  const std::vector<double> losses = losses_of(data_, spec.model, train, *EmulatedCard().backend);
  QCOMPARE(losses.size(), static_cast<std::size_t>(kSteps));
  const double share = worst_share(spec.model, train, losses, expected);
  qInfo("worst difference %.3f of the tolerance; loss %.6f, the processor's %.6f", share,
        losses.back(), expected.back());
  QVERIFY(share <= 1);
  if (kSanitized) return;
  QVERIFY(losses.back() < losses.front());
  // The comparison must notice a step that is a quarter too long.
  TrainConfig other = train;
  other.learning_rate *= 1.25;
  QVERIFY(worst_share(spec.model, train, losses_of(data_, spec.model, other, *make_cpu_backend(0)),
                      expected) > 1);
}

void TestCudaTraining::every_storage_has_the_processors_losses_data() {
  QTest::addColumn<int>("weights");
  QTest::addColumn<int>("gradients");
  QTest::addColumn<int>("moments");
  for (const WeightStorage weights :
       {WeightStorage::bf16_master, WeightStorage::bf16_split, WeightStorage::bf16_stochastic}) {
    for (const Precision gradients : {Precision::f32, Precision::bf16}) {
      for (const Moments moments : {Moments::f32, Moments::eight_bit}) {
        // One of each kind then.
        if (kSanitized && (gradients == Precision::bf16) != (moments == Moments::eight_bit))
          continue;
        QTest::addRow("weights %d, gradients %d, moments %d", static_cast<int>(weights),
                      static_cast<int>(gradients), static_cast<int>(moments))
            << static_cast<int>(weights) << static_cast<int>(gradients)
            << static_cast<int>(moments);
      }
    }
  }
}

namespace {

/// All kinds of operations, in the least size: QK-norm, biases, heads wider than their share of the
/// width, dropout, documents.
ModelConfig small_model() {
  ModelConfig model = tiny_model();
  model.width = 48;
  model.heads = 2;
  model.kv_heads = 1;
  model.qk_norm = true;
  model.qkv_biases = true;
  model.head_size = 32;
  model.dropout = 0.1;
  return model;
}

}  // namespace

void TestCudaTraining::every_storage_has_the_processors_losses() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  QFETCH(const int, weights);
  QFETCH(const int, gradients);
  QFETCH(const int, moments);
  TrainConfig train = quiet(tiny_train(3), 3);
  train.weights = static_cast<WeightStorage>(weights);
  train.gradients = static_cast<Precision>(gradients);
  train.moments = static_cast<Moments>(moments);
  train.micro_batch = 2;
  const ModelConfig model = small_model();
  const double share =
      worst_share(model, train, losses_of(data_, model, train, *EmulatedCard().backend),
                  losses_of(data_, model, train, *make_cpu_backend(0)));
  QVERIFY2(share <= 1, std::to_string(share).c_str());
}

/// Its iteration is FP32 on the processor. In BF16 it errs by about 2 % of a step, as much as the
/// share that gradients differ by in any case.
void TestCudaTraining::muon_has_the_processors_losses() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  TrainConfig train = quiet(tiny_train(3), 3);
  train.optimizer = Optimizer::muon;
  train.micro_batch = 2;
  const ModelConfig model = small_model();
  const std::vector<double> losses = losses_of(data_, model, train, *EmulatedCard().backend);
  const double share =
      worst_share(model, train, losses, losses_of(data_, model, train, *make_cpu_backend(0)));
  qInfo("worst difference %.3f of the tolerance", share);
  QVERIFY(share <= 1);
  train.offload_moments = train.offload_master = train.offload_gradients = true;
  QCOMPARE(losses_of(data_, model, train, *EmulatedCard().backend), losses);
}

void TestCudaTraining::offloading_and_recomputing_keep_the_bits() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const ModelConfig model = small_model();
  TrainConfig train = quiet(tiny_train(2), 2);
  train.micro_batch = 1;
  train.gradient_accumulation = 2;
  const std::vector<double> expected = losses_of(data_, model, train, *EmulatedCard().backend);
  for (std::int64_t level = 1; level < kKeepLevels; level += kSanitized ? 3 : 1) {
    TrainConfig other = train;
    other.recompute_level = level;
    other.offload_moments = other.offload_master = other.offload_gradients = level % 2 == 1;
    QCOMPARE(losses_of(data_, model, other, *EmulatedCard().backend), expected);
  }
}

void TestCudaTraining::planned_bytes_are_allocated_bytes() {
  const ModelConfig model = small_model();
  for (const Optimizer optimizer : {Optimizer::adamw, Optimizer::muon}) {
    EmulatedCard card;
    TrainConfig train = quiet(tiny_train(1), 1);
    train.optimizer = optimizer;
    const TrainPlan plan = plan_training(model, train, cuda::card_traits());
    const Trainer trainer(data_.inputs(model, train), *card.backend);
    QCOMPARE(card.runtime->allocated_bytes(), plan.memory.peak_bytes);
  }
}

void TestCudaTraining::checkpoints_resume_on_the_card_and_on_the_processor() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const ModelConfig model = small_model();
  TrainConfig train = quiet(tiny_train(6), 6);
  train.checkpoint_interval = 3;
  train.kept_checkpoints = 3;
  TrainRecorder whole;
  {
    EmulatedCard card;
    Trainer trainer(data_.inputs(model, train, "whole"), *card.backend);
    TrainControl control;
    trainer.run(control, whole);
  }
  const std::filesystem::path saved =
      data_.inputs(model, train, "whole").checkpoints / "step-00000003";
  const CheckpointFolder::Loaded loaded = CheckpointFolder::load(saved, true);
  const auto resumed_loss = [&](Backend& backend, const char* folder) {
    Trainer trainer(data_.inputs(model, train, folder), backend, &loaded);
    TrainControl control;
    TrainRecorder recorder;
    trainer.run(control, recorder);
    return recorder.steps.back().loss;
  };
  QCOMPARE(resumed_loss(*EmulatedCard().backend, "card"), whole.steps.back().loss);
  const double elsewhere = resumed_loss(*make_cpu_backend(0), "processor");
  QVERIFY(std::abs(elsewhere - whole.steps.back().loss) <=
          tolerance(model, train, whole.steps.front().loss, whole.steps.back().loss));
}

void TestCudaTraining::too_little_memory_is_said() {
  const ModelConfig model = small_model();
  const TrainConfig train = quiet(tiny_train(1), 1);
  EmulatedCard card(std::int64_t{1} << 20);
  ATHANOR_EXPECT_ERROR(Trainer(data_.inputs(model, train), *card.backend), ErrorKind::io,
                       "not enough free memory");
}

void TestCudaTraining::a_lost_card_leaves_the_last_checkpoint() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const ModelConfig model = small_model();
  TrainConfig train = quiet(tiny_train(20), 20);
  train.checkpoint_interval = 2;
  /// Loses the card in the middle of a step.
  class Breaker : public TrainRecorder {
   public:
    explicit Breaker(cuda::HostRuntime& runtime) : runtime_(runtime) {}
    void on_step(const StepMetrics& metrics) override {
      TrainRecorder::on_step(metrics);
      if (metrics.step == 5) runtime_.plan_fault({.fault = cuda::Fault::lost, .calls_before = 40});
    }

   private:
    cuda::HostRuntime& runtime_;
  };
  EmulatedCard card;
  Breaker breaker(*card.runtime);
  TrainControl control;
  Trainer trainer(data_.inputs(model, train, "lost"), *card.backend);
  ATHANOR_EXPECT_ERROR(trainer.run(control, breaker), ErrorKind::device, "stopped answering");
  QCOMPARE(breaker.steps.back().step, 5);
  std::vector<std::string> problems;
  const CheckpointFolder folder(data_.inputs(model, train, "lost").checkpoints);
  QCOMPARE(folder.load_newest(true, problems).step, 4);
  QVERIFY(problems.empty());
}

void TestCudaTraining::what_a_card_cannot_do_is_said() {
  EmulatedCard card;
  const auto start = [&](const ModelConfig& model, const TrainConfig& train) {
    Trainer(data_.inputs(model, train), *card.backend);
  };
  ATHANOR_EXPECT_ERROR(start(small_model(), tiny_train(1)), ErrorKind::invalid_argument, "BF16");
  ModelConfig odd = small_model();
  odd.head_size = 40;
  ATHANOR_EXPECT_ERROR(start(odd, quiet(tiny_train(1), 1)), ErrorKind::invalid_argument,
                       "heads of 40");
  ModelConfig wide = small_model();
  wide.width = 16384;
  wide.heads = wide.kv_heads = 128;
  wide.head_size = 0;
  ATHANOR_EXPECT_ERROR(start(wide, quiet(tiny_train(1), 1)), ErrorKind::invalid_argument, "8192");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCudaTraining)
#include "test_cuda_training.moc"
