// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <filesystem>
#include <vector>

#include "engine/backend/registry.h"
#include "engine/planner/search.h"
#include "tests/support/random_configuration.h"

namespace athanor {
namespace {

/// A machine of round numbers, slow to copy from and to its host tier.
DeviceSpeed plain_speed() {
  std::vector<DeviceSpeed::Sample> samples;
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    samples.push_back({operation, 100, is_host_copy(operation) ? 2e8 : 1e9});
  }
  return {{"plain", "round numbers", 1}, samples};
}

/// Losses and gradients of two micro-batches, as they lie in memory.
std::vector<std::byte> two_micro_batches(const Configuration& at, Backend& backend) {
  TrainArenas arenas(plan_training(at.model, at.train, BackendTraits()), backend,
                     std::filesystem::temp_directory_path());
  TrainMemory memory(at.model, at.train, backend, arenas);
  const auto& parameters = memory.parameters().all();
  for (std::size_t i = 0; i < parameters.size(); ++i)
    memory.set_weights(static_cast<int>(i), initial_values(parameters[i], static_cast<int>(i), 3));
  const auto fill = [&](const Tensor& ids, std::int32_t times) {
    for (std::int64_t i = 0; i < ids.elements(); ++i) {
      ids.as<std::int32_t>()[i] = static_cast<std::int32_t>(i * times % at.model.vocabulary);
    }
  };
  fill(memory.batch.tokens, 7);
  fill(memory.batch.targets, 11);
  fill(memory.batch.document_starts, 0);
  memory.train_micro_batch(0.1, 0, true);
  memory.train_micro_batch(0.1, 1, false);
  std::vector<std::byte> bytes;
  for (const Tensor& kept : {memory.gradients, memory.losses})
    bytes.insert(bytes.end(), kept.byte_span().begin(), kept.byte_span().end());
  return bytes;
}

/// The most tokens per second of all ways within the budget.
double brute_force(const Configuration& at, const DeviceSpeed& speed, std::int64_t budget_bytes) {
  double best = 0;
  const std::int64_t sequences = at.train.micro_batch * at.train.gradient_accumulation;
  const auto consider = [&](const TrainConfig& way) {
    const TrainPlan plan = plan_training(at.model, way, BackendTraits());
    if (plan.memory.peak_bytes > budget_bytes) return;
    best = std::max(best, predict_throughput(plan, at.model, way, speed).tokens_per_second);
  };
  for (std::int64_t micro = 1; micro <= sequences; ++micro) {
    if (sequences % micro != 0) continue;
    for (std::int64_t level = 0; level < kDeviceKeepLevels; ++level) {
      const bool last = level + 1 == kDeviceKeepLevels;
      for (std::int64_t further = 0; further <= (last ? 0 : at.model.layers); ++further) {
        TrainConfig way = at.train;
        way.micro_batch = micro;
        way.gradient_accumulation = sequences / micro;
        way.recompute_level = level;
        way.recompute_further_layers = further;
        way.offload_moments = way.offload_master = way.offload_gradients = false;
        consider(way);
      }
    }
  }
  return best;
}

}  // namespace

/// What must hold of every plan, on many random configurations.
class TestProperties : public QObject {
  Q_OBJECT

 private slots:
  void configurations_data();
  void every_level_has_the_same_bits_data() { configurations_data(); }
  void every_level_has_the_same_bits();
  void more_memory_is_never_slower_data() { configurations_data(); }
  void more_memory_is_never_slower();
};

void TestProperties::configurations_data() {
  QTest::addColumn<int>("number");
#ifdef ATHANOR_SANITIZED
  // The same code ten times slower; what a sanitizer finds is in any of them.
  constexpr int kEvery = 8;
#else
  constexpr int kEvery = 1;
#endif
  for (int number = 0; number < kConfigurations; number += kEvery) {
    const std::string text = random_configuration(static_cast<std::uint64_t>(number)).text();
    QTest::addRow("%d: %s", number, text.c_str()) << number;
  }
}

void TestProperties::every_level_has_the_same_bits() {
  QFETCH(const int, number);
  Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const auto backend = make_backend({.threads = 1});
  at.train.recompute_further_layers = 0;
  at.train.recompute_level = 0;
  const std::vector<std::byte> expected = two_micro_batches(at, *backend);
  for (std::int64_t level = 1; level < kKeepLevels; ++level) {
    at.train.recompute_level = level;
    at.train.recompute_further_layers =
        level + 1 < kKeepLevels ? number % (at.model.layers + 1) : 0;
    QVERIFY2(two_micro_batches(at, *backend) == expected, std::to_string(level).c_str());
  }
}

void TestProperties::more_memory_is_never_slower() {
  QFETCH(const int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const DeviceSpeed speed = plain_speed();
  Configuration roomy = at;
  roomy.train.recompute_level = roomy.train.recompute_further_layers = 0;
  const std::int64_t all = plan_training(at.model, roomy.train, BackendTraits()).memory.peak_bytes;
  double before = 0;
  for (int part = 2; part <= 10; part += 2) {
    const std::int64_t budget = all * part / 10;
    const Proposals found = search_plans(at.model, at.train, speed, budget, BackendTraits());
    const double now = found.fastest ? found.fastest->speed.tokens_per_second : 0;
    QVERIFY(now >= before);
    // Offloading may be faster still.
    QVERIFY(now >= brute_force(at, speed, budget));
    if (found.fastest) {
      QVERIFY(found.fastest->peak_bytes <= budget);
      QVERIFY(found.leanest.peak_bytes <= found.balanced->peak_bytes);
      QVERIFY(found.balanced->peak_bytes <= found.fastest->peak_bytes);
    }
    before = now;
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestProperties)
#include "test_properties.moc"
