// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <limits>

#include "engine/backend/cuda/card_traits.h"
#include "engine/backend/registry.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/planner/buffer_table.h"
#include "engine/planner/search.h"
#include "engine/session/run_spec.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

/// A machine of round numbers: FLOPs and bytes of every operation at one rate.
DeviceSpeed plain_speed(double per_second = 1e9) {
  std::vector<DeviceSpeed::Sample> samples;
  for (int i = 0; i < kOperations; ++i)
    samples.push_back({static_cast<Operation>(i), 100, per_second});
  return {{"plain", "round numbers", 1}, samples};
}

ModelConfig model() {
  return {.vocabulary = 300,
          .layers = 3,
          .width = 32,
          .heads = 4,
          .kv_heads = 2,
          .ffn = 64,
          .context = 32};
}

TrainConfig batch_of(std::int64_t micro_batch, std::int64_t accumulation) {
  TrainConfig train;
  train.micro_batch = micro_batch;
  train.gradient_accumulation = accumulation;
  train.head_chunk_tokens = 64;
  return train;
}

/// Every way there is with this chunk, and without offloading or with.
std::vector<Proposal> all_ways(const TrainConfig& train, const DeviceSpeed& speed, bool offload) {
  std::vector<Proposal> ways;
  const std::int64_t sequences = train.micro_batch * train.gradient_accumulation;
  for (std::int64_t micro = 1; micro <= sequences; ++micro) {
    if (sequences % micro != 0) continue;
    const std::int64_t levels = offload ? kKeepLevels : kDeviceKeepLevels;
    for (std::int64_t level = 0; level < levels; ++level) {
      for (std::int64_t further = 0; further <= (level + 1 == levels ? 0 : model().layers);
           ++further) {
        TrainConfig way = batch_of(micro, sequences / micro);
        way.recompute_level = level;
        way.recompute_further_layers = further;
        way.offload_moments = offload;
        for (const bool gradients : {false, true}) {
          if (gradients && !offload) continue;
          way.offload_gradients = gradients;
          const TrainPlan plan = plan_training(model(), way, BackendTraits());
          ways.push_back(
              {way, plan.memory.peak_bytes, predict_throughput(plan, model(), way, speed), {}});
        }
      }
    }
  }
  return ways;
}

}  // namespace

class TestPlanner : public QObject {
  Q_OBJECT

 private slots:
  void rates_are_interpolated();
  void bf16_rows_have_a_rate_of_their_own();
  void a_measurement_survives_its_file();
  void a_damaged_measurement_is_passed_over_data();
  void a_damaged_measurement_is_passed_over();
  void measuring_can_be_cancelled();
  void what_cannot_be_kept_is_measured_all_the_same();
  void a_card_is_measured_within_its_memory();
  void search_equals_trying_all();
  void more_memory_is_never_slower();
  void nothing_fits();
  void offloads_where_memory_binds();
  void every_preset_is_searched_at_once();
  void timeline_reaches_the_peak();
  void peak_is_in_a_layer();
  void groups_sum_to_what_is_alive();
  void table_lists_every_buffer();
  void table_lists_what_is_offloaded();
};

void TestPlanner::rates_are_interpolated() {
  const DeviceSpeed speed({}, {{Operation::linear, 100, 1e9}, {Operation::linear, 400, 4e9}});
  const OperationCost cost{.calls = 1, .flops = 2e9, .bytes = 0};
  QCOMPARE(speed.seconds(Operation::linear, cost, 50), 2.0);
  QCOMPARE(speed.seconds(Operation::linear, cost, 100), 2.0);
  QCOMPARE(speed.seconds(Operation::linear, cost, 200), 1.0);
  QCOMPARE(speed.seconds(Operation::linear, cost, 1000), 0.5);
  QCOMPARE(speed.seconds(Operation::linear, {}, 100), 0.0);
}

void TestPlanner::bf16_rows_have_a_rate_of_their_own() {
  const DeviceSpeed speed({"plain", "round numbers", 1}, {{Operation::add_norm, 100, 1e9}},
                          DeviceSpeed::Traits{.call_seconds = 0.25, .bf16_share = 0.5});
  const OperationCost cost{.calls = 2, .flops = 0, .bytes = 3e9};
  QCOMPARE(speed.seconds(Operation::add_norm, cost, 100), 3.5);
  QCOMPARE(speed.seconds(Operation::add_norm, cost, 100, Precision::f32), 3.5);
  QCOMPARE(speed.seconds(Operation::add_norm, cost, 100, Precision::bf16), 6.5);
}

void TestPlanner::a_measurement_survives_its_file() {
  const QTemporaryDir folder;
  const std::filesystem::path home = folder.path().toStdString();
  const DeviceSpeed speed = plain_speed();
  QVERIFY(!load_device_speed(home, speed.device()));
  save_device_speed(home, speed);
  const auto loaded = load_device_speed(home, speed.device());
  QVERIFY(loaded.has_value());
  QCOMPARE(loaded->samples().size(), speed.samples().size());
  for (std::size_t i = 0; i < speed.samples().size(); ++i) {
    QCOMPARE(loaded->samples()[i].per_second, speed.samples()[i].per_second);
    QVERIFY(loaded->samples()[i].operation == speed.samples()[i].operation);
  }
  // Of another machine, or another number of threads.
  QVERIFY(!load_device_speed(home, {"plain", "round numbers", 2}));
  QVERIFY(!load_device_speed(home, {"other", "round numbers", 1}));
}

void TestPlanner::a_damaged_measurement_is_passed_over_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::newRow("empty") << QByteArray();
  QTest::newRow("not JSON") << QByteArray("{\"format\": 5, ");
  QTest::newRow("no samples") << QByteArray("{\"format\": 5}");
  QTest::newRow("samples of none") << QByteArray(
      "{\"format\": 5, \"device\": \"plain\", \"detail\": \"round numbers\", "
      "\"threads\": 1, \"call_seconds\": 0, \"bf16_share\": 1, \"samples\": []}");
  QTest::newRow("infinite rate") << QByteArray(
      "{\"format\": 5, \"device\": \"plain\", \"detail\": \"round numbers\", "
      "\"threads\": 1, \"call_seconds\": 0, \"bf16_share\": 1, \"samples\": [{\"operation\": "
      "\"linear\", \"size\": 1, "
      "\"per_second\": 1e999}]}");
  QTest::newRow("binary") << QByteArray("\0\xff\x01\0", 4);
  QTest::newRow("another version") << QByteArray("{\"format\": 99}");
  QTest::newRow("unknown operation") << QByteArray(
      "{\"format\": 5, \"device\": \"plain\", \"detail\": \"round numbers\", "
      "\"threads\": 1, \"call_seconds\": 0, \"bf16_share\": 1, \"samples\": [{\"operation\": "
      "\"magic\", \"size\": 1, "
      "\"per_second\": 1}]}");
  QTest::newRow("negative rate") << QByteArray(
      "{\"format\": 5, \"device\": \"plain\", \"detail\": \"round numbers\", "
      "\"threads\": 1, \"call_seconds\": 0, \"bf16_share\": 1, \"samples\": [{\"operation\": "
      "\"linear\", \"size\": 1, "
      "\"per_second\": -1}]}");
}

void TestPlanner::a_damaged_measurement_is_passed_over() {
  QFETCH(QByteArray, content);
  const QTemporaryDir folder;
  const std::filesystem::path home = folder.path().toStdString();
  write_file_atomically(home / "device-speed.json", content.toStdString());
  QVERIFY(!load_device_speed(home, {"plain", "round numbers", 1}));
}

void TestPlanner::measuring_can_be_cancelled() {
  const auto backend = make_backend({.threads = 1});
  CancelToken cancel;
  cancel.request();
  const QTemporaryDir folder;
  const std::filesystem::path home = folder.path().toStdString();
  QVERIFY_EXCEPTION_THROWN(measure_device(*backend, home, cancel), Cancelled);
  QVERIFY_EXCEPTION_THROWN(kept_device_speed(home, *backend, cancel), Cancelled);
  QVERIFY(std::filesystem::is_empty(home));
}

void TestPlanner::what_cannot_be_kept_is_measured_all_the_same() {
#ifdef ATHANOR_SANITIZED
  QSKIP("a measurement takes a minute when sanitized");
#endif
  const auto backend = make_backend({.threads = 1});
  const QTemporaryDir folder;
  const std::filesystem::path home = folder.path().toStdString();
  create_folders(home / "device-speed.json" / "inside");
  QVERIFY(!kept_device_speed(home, *backend, CancelToken()).samples().empty());
  write_file_atomically(home / "a file", "text");
  QVERIFY(!kept_device_speed(home / "a file", *backend, CancelToken()).samples().empty());
}

/// Dry: what is measured with must fit, and be what a card can compute.
void TestPlanner::a_card_is_measured_within_its_memory() {
  PlanBackend card(cuda::card_traits());
  const DeviceSpeed speed =
      measure_device(card, std::filesystem::temp_directory_path(), CancelToken());
  for (const Operation operation :
       {Operation::linear, Operation::head_loss, Operation::attention, Operation::adamw_8bit}) {
    QVERIFY(speed.seconds(operation, {.calls = 1, .flops = 1e9, .bytes = 1e9}, 128) > 0);
  }
}

void TestPlanner::search_equals_trying_all() {
  const DeviceSpeed speed = plain_speed();
  const TrainConfig train = batch_of(4, 2);
  const std::vector<Proposal> ways = all_ways(train, speed, false);
  const std::vector<Proposal> offloaded = all_ways(train, speed, true);
  const auto [least, most] = std::minmax_element(
      ways.begin(), ways.end(),
      [](const Proposal& a, const Proposal& b) { return a.peak_bytes < b.peak_bytes; });
  const std::int64_t least_bytes = least->peak_bytes;
  const std::int64_t most_bytes = most->peak_bytes;
  const auto best_of = [](const std::vector<Proposal>& some, std::int64_t budget) {
    double best = 0;
    for (const Proposal& way : some) {
      if (way.peak_bytes <= budget) best = std::max(best, way.speed.tokens_per_second);
    }
    return best;
  };
  const std::int64_t least_offloaded =
      std::min_element(offloaded.begin(), offloaded.end(), [](const auto& a, const auto& b) {
        return a.peak_bytes < b.peak_bytes;
      })->peak_bytes;
  for (int part = 0; part <= 40; ++part) {
    const std::int64_t budget = least_bytes + (most_bytes - least_bytes) * part / 40;
    const double best_here = best_of(ways, budget);
    const double best = std::max(best_here, best_of(offloaded, budget));
    const Proposals found = search_plans(model(), train, speed, budget, BackendTraits());
    QVERIFY(found.fastest.has_value());
    QVERIFY(found.fastest->peak_bytes <= budget);
    QCOMPARE(found.fastest->speed.tokens_per_second, best);
    // Where offloading is the fastest way, the leanest offloads too.
    const bool offloads = best > best_here;
    QCOMPARE(found.leanest.peak_bytes, offloads ? least_offloaded : least_bytes);
    QVERIFY(found.balanced->speed.tokens_per_second >= kNearlyAsFast * best);
    QVERIFY(found.balanced->peak_bytes <= found.fastest->peak_bytes);
  }
}

void TestPlanner::more_memory_is_never_slower() {
  const DeviceSpeed speed = plain_speed();
  const TrainConfig train = batch_of(8, 1);
  const std::int64_t all = plan_training(model(), train, BackendTraits()).memory.peak_bytes;
  double before = 0;
  for (std::int64_t budget = all / 8; budget <= all; budget += all / 64) {
    const Proposals found = search_plans(model(), train, speed, budget, BackendTraits());
    if (!found.fastest) continue;
    QVERIFY(found.fastest->speed.tokens_per_second >= before);
    before = found.fastest->speed.tokens_per_second;
  }
  QVERIFY(before > 0);
}

void TestPlanner::nothing_fits() {
  const Proposals found =
      search_plans(model(), batch_of(1, 1), plain_speed(), 1000, BackendTraits());
  QVERIFY(!found.fastest && !found.balanced);
  QVERIFY(found.leanest.peak_bytes > 1000);
  QVERIFY(!describe(found.leanest, model()).empty());
}

void TestPlanner::offloads_where_memory_binds() {
  const DeviceSpeed speed = plain_speed();
  TrainConfig train = batch_of(4, 2);
  const std::int64_t least =
      search_plans(model(), train, speed, 1LL << 40, BackendTraits()).leanest.peak_bytes;
  train.offload_gradients = true;
  const Proposals roomy = search_plans(model(), train, speed, least, BackendTraits());
  QVERIFY(roomy.fastest && !roomy.fastest->train.offload_gradients);
  QVERIFY(roomy.leanest.train.recompute_level < kDeviceKeepLevels);
  const Proposals tight = search_plans(model(), train, speed, least - 64, BackendTraits());
  QVERIFY(tight.fastest && tight.fastest->train.offload_moments);
  QVERIFY(tight.fastest->peak_bytes < least);
  QVERIFY(describe(*tight.fastest, model()).find("offloads moments") != std::string::npos);
}

void TestPlanner::every_preset_is_searched_at_once() {
  const DeviceSpeed speed = plain_speed();
  for (const Preset& preset : presets()) {
    const Stopwatch watch;
    const Proposals found =
        search_plans(preset.spec.model, preset.spec.train, speed, 8LL << 30, BackendTraits());
    qInfo("%s: %.0f ms, %s", preset.id.c_str(), watch.seconds() * 1000,
          describe(found.fastest.value_or(found.leanest), preset.spec.model).c_str());
    QVERIFY(found.leanest.peak_bytes > 0);
  }
}

void TestPlanner::timeline_reaches_the_peak() {
  const TrainPlan plan = plan_training(model(), batch_of(2, 1), BackendTraits());
  const std::vector<MemoryMoment> timeline = memory_timeline(plan);
  QCOMPARE(static_cast<std::int64_t>(timeline.size()), plan.moments);
  const auto highest = std::max_element(
      timeline.begin(), timeline.end(),
      [](const MemoryMoment& a, const MemoryMoment& b) { return a.bytes < b.bytes; });
  QCOMPARE(highest->bytes, plan.memory.peak_bytes);
  QCOMPARE(highest->moment, plan.memory.peak_moment);
  QVERIFY(phase_at(plan, highest->moment) == plan.memory.peak_phase);
  std::int64_t alive = 0;
  for (const Arena::Record& buffer : buffers_at(plan, highest->moment))
    alive += buffer.size_bytes;
  QCOMPARE(alive, plan.memory.peak_bytes);
}

/// Layers come one by one forwards, then backwards.
void TestPlanner::peak_is_in_a_layer() {
  for (const std::int64_t level : {0, 3, 6}) {
    TrainConfig train = batch_of(2, 1);
    train.recompute_level = level;
    const TrainPlan plan = plan_training(model(), train, BackendTraits());
    std::vector<std::int64_t> order;
    for (std::int64_t moment = 1; moment <= plan.moments; ++moment) {
      const Phase phase = phase_at(plan, moment);
      const std::int64_t layer = layer_at(plan, moment);
      if (phase != Phase::forward && phase != Phase::backward) QCOMPARE(layer, std::int64_t{-1});
      if (layer >= 0 && (order.empty() || order.back() != layer)) order.push_back(layer);
    }
    QCOMPARE(order, (std::vector<std::int64_t>{0, 1, 2, 1, 0}));
  }
}

void TestPlanner::groups_sum_to_what_is_alive() {
  const TrainPlan plan = plan_training(model(), batch_of(2, 1), BackendTraits());
  const std::vector<MemoryMoment> timeline = memory_timeline(plan);
  for (const MemoryMoment& at : timeline) {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    std::int64_t before = std::numeric_limits<std::int64_t>::max();
    for (const BufferGroup& group : groups_of(buffers_at(plan, at.moment))) {
      QVERIFY(group.bytes <= before);
      before = group.bytes;
      bytes += group.bytes;
      count += group.count;
    }
    QCOMPARE(bytes, at.bytes);
    QCOMPARE(count, static_cast<std::int64_t>(buffers_at(plan, at.moment).size()));
  }
  const auto peak = groups_of(buffers_at(plan, plan.memory.peak_moment));
  const auto product = std::ranges::find(peak, "MLP product", &BufferGroup::name);
  QVERIFY(product != peak.end());
  QCOMPARE(product->count, std::int64_t{3});
}

void TestPlanner::table_lists_every_buffer() {
  const TrainPlan plan = plan_training(model(), batch_of(2, 1), BackendTraits());
  const QByteArray table = QByteArray::fromStdString(buffer_table_csv(plan));
  QCOMPARE(table.count("\r\n"), static_cast<qsizetype>(plan.buffers.size()) + 1);
  QVERIFY(table.contains("\"QKV of layer 2\",activations,memory,"));
  QVERIFY(!table.contains(",file,"));
  QVERIFY(plan.host_buffers.empty());
}

void TestPlanner::table_lists_what_is_offloaded() {
  TrainConfig train = batch_of(2, 1);
  train.recompute_level = 7;
  train.offload_moments = true;
  const TrainPlan plan = plan_training(model(), train, BackendTraits());
  const QByteArray table = QByteArray::fromStdString(buffer_table_csv(plan));
  QCOMPARE(table.count(",file,"), static_cast<qsizetype>(plan.host_buffers.size()));
  QVERIFY(table.contains("\"first moments\",optimizer,file,"));
  // One part for the inputs of all layers.
  const std::vector<BufferGroup> parts = groups_of(plan.host_buffers);
  QCOMPARE(parts.size(), std::size_t{3});
  std::int64_t sum = 0;
  for (const BufferGroup& part : parts)
    sum += part.bytes;
  QCOMPARE(sum, plan.host.peak_bytes);
  QCOMPARE(parts.back().count, model().layers);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestPlanner)
#include "test_planner.moc"
