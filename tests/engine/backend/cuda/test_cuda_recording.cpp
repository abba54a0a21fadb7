// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/backend/cuda/card_traits.h"
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

/// Every kind of operation, in the least size.
ModelConfig small_model(Activation activation) {
  ModelConfig model = tiny_model();
  model.width = 64;
  model.heads = 2;
  model.kv_heads = 1;
  model.activation = activation;
  model.biases = activation == Activation::gelu;
  model.qk_norm = true;
  model.dropout = 0.1;
  return model;
}

TrainConfig small_train() {
  constexpr std::int64_t kSteps = kSanitized ? 1 : 4;
  TrainConfig train = tiny_train(kSteps);
  train.micro_batch = 1;
  train.gradient_accumulation = 2;
  train.evaluation_interval = 1;
  train.evaluation_tokens = 64;
  train.checkpoint_interval = 0;
  return suited_to(cuda::card_traits(), train);
}

/// What a run tells, and the weights that it ends with.
struct Outcome {
  std::vector<double> losses;
  std::vector<double> evaluations;
  std::vector<std::byte> weights;
  std::string notice;

  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const TinyData& data, const ModelConfig& model, const TrainConfig& train,
                   EmulatedCard& card) {
  Trainer trainer(data.inputs(model, train), *card.backend);
  Outcome outcome{.notice = card.backend->take_notice()};
  TrainControl control;
  TrainRecorder recorder;
  trainer.run(control, recorder);
  for (const StepMetrics& step : recorder.steps)
    outcome.losses.push_back(step.loss);
  for (const Evaluation& evaluation : recorder.evaluations)
    outcome.evaluations.push_back(evaluation.loss);
  const auto bytes = trainer.memory().weights.byte_span();
  outcome.weights.assign(bytes.begin(), bytes.end());
  return outcome;
}

}  // namespace

/// Work that is recorded and repeated, on an emulated card: replays run the launches that were
/// noted, with the arguments of then.
class TestCudaRecording : public QObject {
  Q_OBJECT

 private slots:
  void a_replay_reads_what_tensors_hold_now();
  void nothing_is_done_while_recording();
  void what_cannot_be_recorded_is_said_once();
  void a_card_lost_while_replaying_is_said();
  void recorded_runs_have_the_same_bits_data();
  void recorded_runs_have_the_same_bits();
  void copies_between_the_tiers_are_not_recorded();

 private:
  AddNorm dropping(const Dropout& dropout) {
    const Shape shape{4, 64};
    return {.input = random_tensor(arena_, DType::bf16, shape, 1),
            .branch = random_tensor(arena_, DType::bf16, shape, 2),
            .dropout = dropout,
            .weight = random_tensor(arena_, DType::bf16, {64}, 3),
            .sum = zero_tensor(arena_, DType::bf16, shape),
            .out = zero_tensor(arena_, DType::bf16, shape),
            .rstd = zero_tensor(arena_, DType::f32, {4})};
  }

  const TinyData data_;
  Arena arena_{std::int64_t{64} << 20};
};

void TestCudaRecording::a_replay_reads_what_tensors_hold_now() {
  const ArenaScope scope(arena_);
  EmulatedCard card;
  const Dropout wanted{.rate = 0.5F, .seed = 5, .stream = 3 + 9};
  const AddNorm plain = dropping(wanted);
  card.backend->run(plain);
  const auto same_as_plain = [&](const AddNorm& op) { return same_bytes(op.sum, plain.sum); };

  // The stream lies in memory: 3 while it is recorded, 12 when it is replayed.
  const Tensor base = integer_tensor(arena_, {0, 0});
  const AddNorm in_memory = dropping({.rate = 0.5F, .seed = 5, .stream = 3, .stream_base = base});
  const auto recording = card.backend->record([&] { card.backend->run(in_memory); });
  recording->replay();
  QVERIFY(!same_as_plain(in_memory));
  base.as<std::int32_t>()[0] = 9;
  recording->replay();
  QVERIFY(same_as_plain(in_memory));

  // An argument is that of the recording for good.
  AddNorm as_argument = dropping({.rate = 0.5F, .seed = 5, .stream = 3});
  const auto fixed = card.backend->record([&] { card.backend->run(as_argument); });
  as_argument.dropout = wanted;
  fixed->replay();
  QVERIFY(!same_as_plain(as_argument));
  card.backend->run(as_argument);
  QVERIFY(same_as_plain(as_argument));
}

void TestCudaRecording::nothing_is_done_while_recording() {
  const ArenaScope scope(arena_);
  EmulatedCard card;
  const Tensor workspace =
      arena_.take(MemoryRole::workspace, DType::u8, {cuda::card_traits().workspace_bytes});
  card.backend->use_workspace(workspace);
  const Tensor x = random_tensor(arena_, DType::bf16, {3, 8}, 1);
  const Linear product{.x = x,
                       .weight = random_tensor(arena_, DType::bf16, {5, 8}, 2),
                       .bias = {},
                       .y = zero_tensor(arena_, DType::bf16, {3, 5})};
  const Tensor nothing = zero_tensor(arena_, DType::bf16, {3, 5});
  const Tensor filled = random_tensor(arena_, DType::f32, {7}, 3);
  const auto recording = card.backend->record([&] {
    card.backend->run(product);
    card.backend->zero(filled);
  });
  QVERIFY(same_bytes(product.y, nothing));
  QVERIFY(value_at(filled, 6) != 0);
  recording->replay();
  QVERIFY(!same_bytes(product.y, nothing));
  QVERIFY(value_at(filled, 6) == 0);
}

void TestCudaRecording::what_cannot_be_recorded_is_said_once() {
  const ArenaScope scope(arena_);
  EmulatedCard card;
  const Tensor tensor = zero_tensor(arena_, DType::u8, {1});
  std::byte byte{};
  const auto waits = [&] { card.backend->download({&byte, 1}, tensor); };
  QVERIFY(card.backend->record(waits) == nullptr);
  const std::string notice = card.backend->take_notice();
  QVERIFY2(notice.starts_with("The card could not record the steps"), notice.c_str());
  QVERIFY(notice.find("its work is being recorded") != std::string::npos);
  QVERIFY(card.backend->record([] {}) == nullptr);
  QVERIFY(card.backend->take_notice().empty());
  // It goes on as it is.
  waits();
}

void TestCudaRecording::a_card_lost_while_replaying_is_said() {
  const ArenaScope scope(arena_);
  EmulatedCard card;
  const AddNorm op = dropping({});
  const auto recording = card.backend->record([&] { card.backend->run(op); });
  card.runtime->plan_fault({.fault = cuda::Fault::lost});
  ATHANOR_EXPECT_ERROR(recording->replay(), ErrorKind::device, "stopped answering");
}

void TestCudaRecording::recorded_runs_have_the_same_bits_data() {
  QTest::addColumn<int>("activation");
  QTest::addColumn<int>("level");
  for (int level = 0; level < kDeviceKeepLevels; level += kSanitized ? 6 : 3)
    QTest::addRow("swiglu, level %d", level) << static_cast<int>(Activation::swiglu) << level;
  QTest::addRow("gelu, level 2") << static_cast<int>(Activation::gelu) << 2;
}

void TestCudaRecording::recorded_runs_have_the_same_bits() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  QFETCH(const int, activation);
  QFETCH(const int, level);
  const ModelConfig model = small_model(static_cast<Activation>(activation));
  TrainConfig train = small_train();
  train.recompute_level = level;
  EmulatedCard recording;
  const Outcome recorded = outcome_of(data_, model, train, recording);
  QCOMPARE(recording.runtime->replays(), train.steps * train.gradient_accumulation);
  QVERIFY(recorded.notice.empty());
  QCOMPARE(recorded.evaluations.size(), static_cast<std::size_t>(train.steps));

  EmulatedCard refusing;
  refusing.runtime->refuse_to_record();
  Outcome launched = outcome_of(data_, model, train, refusing);
  QCOMPARE(refusing.runtime->replays(), std::int64_t{0});
  QVERIFY(launched.notice.starts_with("The card could not record the steps"));
  launched.notice.clear();
  QVERIFY(recorded == launched);
}

void TestCudaRecording::copies_between_the_tiers_are_not_recorded() {
#ifdef ATHANOR_EMULATION_TSAN
  QSKIP(kToo_slow);
#endif
  const auto replays = [&](const auto& change) {
    TrainConfig train = small_train();
    train.steps = 1;
    change(train);
    EmulatedCard card;
    const Outcome outcome = outcome_of(data_, small_model(Activation::swiglu), train, card);
    return outcome.notice.empty() ? card.runtime->replays() : -1;
  };
  QCOMPARE(replays([](TrainConfig& train) { train.offload_gradients = true; }), 0);
  QCOMPARE(replays([](TrainConfig& train) { train.recompute_level = kKeepLevels - 1; }), 0);
  // Those of an update are not in the way.
  QCOMPARE(replays([](TrainConfig& train) { train.offload_moments = train.offload_master = true; }),
           2);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCudaRecording)
#include "test_cuda_recording.moc"
