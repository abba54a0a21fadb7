// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/io/weight_source.h"
#include "engine/model/adapted_weights.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace {

constexpr std::array kBases = {FrozenStorage::f32, FrozenStorage::bf16, FrozenStorage::q8_0,
                               FrozenStorage::q4_0};

TrainConfig with_adapters(std::int64_t steps, FrozenStorage base = FrozenStorage::f32) {
  TrainConfig train = tiny_train(steps);
  train.learning_rate = 2e-2;
  train.lora = {.rank = 4, .alpha = 8, .base = base};
  return train;
}

}  // namespace

/// Training of adapters beside the weights of a run that was trained before.
class TestLoraTraining : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void planned_bytes_are_allocated_bytes_data() { ways(); }
  void planned_bytes_are_allocated_bytes();
  void settings_are_checked();
  void adapters_alone_learn_data() { bases(); }
  void adapters_alone_learn();
  void resumed_runs_have_the_same_bits_data() { bases(); }
  void resumed_runs_have_the_same_bits();
  void another_base_is_refused();

 private:
  static void bases();
  static void ways();
  Trainer::Inputs inputs(const TrainConfig& train, const std::string& checkpoints) const {
    Trainer::Inputs made = data_.inputs(tiny_model(), train, checkpoints);
    made.base = {.weights = base_.get(), .path = "the base", .fingerprint = "0123"};
    return made;
  }

  const TinyData data_;
  const std::unique_ptr<Backend> backend_ = best_backend();
  std::optional<CheckpointFolder::Loaded> loaded_;
  std::unique_ptr<CheckpointWeights> base_;
};

void TestLoraTraining::initTestCase() {
  Trainer trainer(data_.inputs(tiny_model(), tiny_train(80), "base"), *backend_);
  losses_of(trainer);
  std::vector<std::string> problems;
  loaded_.emplace(
      CheckpointFolder(data_.folder.filePath("base").toStdString()).load_newest(false, problems));
  base_ = std::make_unique<CheckpointWeights>(loaded_->weights, ParameterTable(tiny_model()).all());
}

void TestLoraTraining::bases() {
  QTest::addColumn<FrozenStorage>("base");
  for (const FrozenStorage base : kBases)
    QTest::newRow(names_of(base)[static_cast<std::size_t>(base)].data()) << base;
}

void TestLoraTraining::ways() {
  QTest::addColumn<TrainConfig>("train");
  for (const FrozenStorage base : kBases) {
    const TrainConfig plain = with_adapters(1, base);
    const std::string name(names_of(base)[static_cast<std::size_t>(base)]);
    QTest::newRow(name.c_str()) << plain;
    TrainConfig small = plain;
    small.recompute_level = 6;
    small.gradient_accumulation = 2;
    small.lora.dropout = 0.1;
    small.lora.targets = "q,v";
    small.activations = Precision::bf16;
    small.moments = Moments::eight_bit;
    QTest::newRow((name + ", little kept").c_str()) << small;
    TrainConfig offloaded = plain;
    offloaded.recompute_level = 7;
    offloaded.offload_gradients = true;
    offloaded.offload_moments = true;
    offloaded.weights = WeightStorage::bf16_master;
    QTest::newRow((name + ", offloaded").c_str()) << offloaded;
    TrainConfig muon = plain;
    muon.optimizer = Optimizer::muon;
    QTest::newRow((name + ", Muon").c_str()) << muon;
  }
}

void TestLoraTraining::planned_bytes_are_allocated_bytes() {
  QFETCH(const TrainConfig, train);
  const TrainPlan plan = plan_training(tiny_model(), train, backend_->traits());
  Trainer trainer(inputs(train, "planned"), *backend_);
  QCOMPARE(trainer.allocated_bytes(), plan.memory.peak_bytes);
  QCOMPARE(losses_of(trainer).size(), std::size_t{1});
  QCOMPARE(plan.parameters, ParameterTable(tiny_model()).count());
  QCOMPARE(plan.trained_parameters, AdapterTable(tiny_model(), train.lora).count());
}

void TestLoraTraining::settings_are_checked() {
  TrainConfig train = with_adapters(1);
  train.lora.targets = "";
  ATHANOR_EXPECT_ERROR(check_training(tiny_model(), train), ErrorKind::invalid_argument,
                       "train.lora_targets must name at least one");
  train.lora.targets = "q,w";
  ATHANOR_EXPECT_ERROR(check_training(tiny_model(), train), ErrorKind::invalid_argument,
                       "\"w\" is none of them");
  train = with_adapters(1);
  train.products = Products::fp8;
  ATHANOR_EXPECT_ERROR(check_training(tiny_model(), train), ErrorKind::invalid_argument,
                       "train.products must be as_stored where train.lora_rank is above 0");
  train.products = Products::as_stored;
  train.lora.rank = 1025;
  ATHANOR_EXPECT_ERROR(check_training(tiny_model(), train), ErrorKind::invalid_argument,
                       "train.lora_rank must be between 0 and 1024");
}

void TestLoraTraining::adapters_alone_learn() {
  QFETCH(const FrozenStorage, base);
  const TrainConfig train = with_adapters(30, base);
  Trainer trainer(inputs(train, "learnt"), *backend_);
  const double before = trainer.evaluate().loss;
  losses_of(trainer);
  const double after = trainer.evaluate().loss;
  // The base has learnt this text already, so that little is left: about 0.05.
  QVERIFY2(after < before - 0.02, qPrintable(QString("%1 after %2").arg(after).arg(before)));
  // What is saved is the adapters, and with the base they are the model that was trained.
  std::vector<std::string> problems;
  const auto saved =
      CheckpointFolder(data_.folder.filePath("learnt").toStdString()).load_newest(true, problems);
  const AdapterTable table(tiny_model(), train.lora);
  QCOMPARE(saved.weights.tensors().size(), table.all().size());
  const CheckpointWeights adapters(saved.weights, table.all());
  const AdaptedWeights merged(tiny_model(), train.lora, *base_, adapters);
  TrainConfig whole = tiny_train(1);
  Trainer other(data_.inputs(tiny_model(), whole, "merged"), *backend_);
  TrainMemory& memory = const_cast<TrainMemory&>(other.memory());
  for (std::size_t i = 0; i < memory.parameters().all().size(); ++i) {
    std::vector<float> numbers(
        static_cast<std::size_t>(memory.parameters().all()[i].shape.elements()));
    merged.read(static_cast<int>(i), 0, numbers);
    memory.set_weights(static_cast<int>(i), numbers);
  }
  // Blocks of codes are multiplied with rows rounded to 16 bits.
  const bool in_blocks = base == FrozenStorage::q8_0 || base == FrozenStorage::q4_0;
  QVERIFY(std::abs(other.evaluate().loss / after - 1) < (in_blocks ? 1e-4 : 1e-5));
}

void TestLoraTraining::resumed_runs_have_the_same_bits() {
  QFETCH(const FrozenStorage, base);
  TrainConfig train = with_adapters(20, base);
  train.lora.dropout = 0.2;
  Trainer whole(inputs(train, "whole"), *backend_);
  const std::vector<double> expected = losses_of(whole);
  {
    Trainer first(inputs(train, "parts"), *backend_);
    losses_of(first, 10);
  }
  std::vector<std::string> problems;
  const auto from =
      CheckpointFolder(data_.folder.filePath("parts").toStdString()).load_newest(true, problems);
  QCOMPARE(from.step, 10);
  Trainer second(inputs(train, "parts"), *backend_, &from);
  QVERIFY(losses_of(second) == std::vector<double>(expected.begin() + 10, expected.end()));
  QVERIFY(same_bytes(second.memory().weights, whole.memory().weights));
  QVERIFY(QDir(data_.folder.filePath("parts")).removeRecursively());
}

void TestLoraTraining::another_base_is_refused() {
  const TrainConfig train = with_adapters(10);
  {
    Trainer trainer(inputs(train, "moved"), *backend_);
    losses_of(trainer);
  }
  std::vector<std::string> problems;
  const auto from =
      CheckpointFolder(data_.folder.filePath("moved").toStdString()).load_newest(true, problems);
  Trainer::Inputs other = inputs(train, "moved");
  other.base.fingerprint = "4567";
  ATHANOR_EXPECT_ERROR(Trainer(other, *backend_, &from), ErrorKind::damaged,
                       "was trained beside another model than the base");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestLoraTraining)
#include "test_lora_training.moc"
