// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <filesystem>

#include "engine/backend/registry.h"
#include "engine/base/machine.h"
#include "engine/train/train_memory.h"

namespace athanor {
namespace {

ModelConfig model_of(std::int64_t layers, std::int64_t width, std::int64_t context) {
  return {.vocabulary = 2048,
          .layers = layers,
          .width = width,
          .heads = width / 32,
          .kv_heads = width / 32,
          .ffn = 3 * width,
          .context = context};
}

void take_a_step(TrainMemory& memory) {
  memory.train_micro_batch(1, 0, true);
  memory.update(1e-3, 1);
  memory.evaluate();
}

}  // namespace

/// What the process grows by while a run's memory is in use: the plan, and nothing beside it.
class TestResident : public QObject {
  Q_OBJECT

 private slots:
  void process_grows_by_the_plan_data();
  void process_grows_by_the_plan();
};

void TestResident::process_grows_by_the_plan_data() {
  QTest::addColumn<int>("level");
  QTest::addColumn<int>("activations");
  QTest::newRow("keeps everything") << 0 << static_cast<int>(Precision::f32);
  QTest::newRow("recomputes the MLP") << 3 << static_cast<int>(Precision::f32);
  QTest::newRow("recomputes whole blocks") << 6 << static_cast<int>(Precision::f32);
  QTest::newRow("BF16") << 0 << static_cast<int>(Precision::bf16);
}

void TestResident::process_grows_by_the_plan() {
#ifdef ATHANOR_SANITIZED
  QSKIP("a sanitizer's own memory grows with the program's");
#endif
  QFETCH(const int, level);
  QFETCH(const int, activations);
  const auto backend = make_backend({.threads = 2});
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  TrainConfig train;
  train.activations = static_cast<Precision>(activations);
  train.recompute_level = level;
  train.micro_batch = 1;
  const auto grown_by = [&](const ModelConfig& model) {
    const TrainPlan plan = plan_training(model, train, BackendTraits());
    const std::int64_t before = resident_bytes();
    TrainArenas arenas(plan, *backend, folder);
    TrainMemory memory(model, train, *backend, arenas);
    take_a_step(memory);
    return static_cast<double>(resident_bytes() - before) /
           static_cast<double>(plan.memory.peak_bytes);
  };
  // The first step of all also brings in the kernels' own pages.
  grown_by(model_of(1, 32, 16));
  train.micro_batch = 8;
  const double share = grown_by(model_of(6, 256, 128));
  qInfo("grown by %.4f of the plan", share);
  QVERIFY(std::abs(share - 1) < 0.02);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestResident)
#include "test_resident.moc"
