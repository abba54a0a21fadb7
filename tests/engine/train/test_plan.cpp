// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <numeric>

#include "engine/backend/registry.h"
#include "engine/train/train_memory.h"
#include "tests/support/expect_error.h"
#include "tests/support/random_configuration.h"

namespace athanor {
namespace {

std::int64_t whole_lines(std::int64_t bytes) {
  constexpr std::int64_t kUnit = Arena::kAlignment_bytes;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

std::int64_t rounded(std::int64_t elements) {
  return whole_lines(4 * elements);
}

/// Matrices of layers keep two bytes a number and two scales a block, or Muon's one FP32 number;
/// all else two FP32 numbers.
std::int64_t optimizer_by_formula(const Configuration& at) {
  std::int64_t bytes = 0;
  const ParameterTable table(at.model);
  for (const Parameter& of : table.all()) {
    const std::int64_t n = of.shape.elements();
    const bool matrix = of.name.starts_with("layers.") && of.shape.rank() == 2;
    const bool coded = at.train.moments == Moments::eight_bit && matrix && n >= 4096;
    if (matrix && at.train.optimizer == Optimizer::muon) {
      bytes += rounded(n);
      continue;
    }
    bytes += coded ? 2 * whole_lines(n) + 2 * whole_lines(4 * ((n + 255) / 256)) : 2 * rounded(n);
  }
  return bytes;
}

/// What `layer` keeps for its backward direction, by the published table of the ladder, with each
/// tensor on whole cache lines: rows of values in FP32 or BF16, statistics in FP32.
std::int64_t kept_by_formula(const Configuration& at, std::int64_t layer) {
  const ModelConfig& model = at.model;
  const std::int64_t rows = at.train.micro_batch * model.context;
  const std::int64_t q = model.heads * model.head_dim();
  const std::int64_t a = q + 2 * model.kv_heads * model.head_dim();
  const std::int64_t level =
      at.train.recompute_level + (layer < at.train.recompute_further_layers ? 1 : 0);
  const std::int64_t value_bytes = at.train.activations == Precision::bf16 ? 2 : 4;
  const auto all = [&](std::int64_t columns) { return whole_lines(value_bytes * rows * columns); };
  const auto statistics = [&](std::int64_t columns) { return rounded(rows * columns); };
  std::int64_t bytes = statistics(1);
  if (level < 7) bytes += all(model.width);
  if (level < 6) bytes += all(q) + statistics(model.heads);
  if (level < 5) bytes += all(model.width) + statistics(1);
  if (level < 4) bytes += all(a);
  if (level < 4 && model.qk_norm) bytes += all(a) + statistics(model.heads + model.kv_heads);
  if (level < 3) bytes += all(model.gated() ? 2 * model.ffn : model.ffn);
  if (level < 2) bytes += all(model.ffn);
  if (level < 1) bytes += 2 * all(model.width);
  return bytes;
}

std::int64_t kept_in_plan(const TrainPlan& plan, std::int64_t layer) {
  std::int64_t bytes = 0;
  for (const Arena::Record& buffer : plan.buffers) {
    if (buffer.role == MemoryRole::activations && !buffer.borrowed && buffer.name.layer == layer) {
      bytes += buffer.size_bytes;
    }
  }
  return bytes;
}

std::int64_t peak_of(const Configuration& at) {
  return plan_training(at.model, at.train, BackendTraits()).memory.peak_bytes;
}

/// A step, an update and an evaluation for real inside `bytes` bytes.
std::int64_t run_inside(const Configuration& at, Backend& backend, std::int64_t bytes) {
  TrainPlan plan = plan_training(at.model, at.train, backend.traits());
  plan.memory.peak_bytes = bytes;
  TrainArenas arenas(plan, backend, std::filesystem::temp_directory_path());
  TrainMemory memory(at.model, at.train, backend, arenas);
  const auto fill_ids = [&](const Tensor& ids, std::int32_t value) {
    std::fill_n(ids.as<std::int32_t>(), ids.elements(), value);
  };
  fill_ids(memory.batch.tokens, 3);
  fill_ids(memory.batch.targets, 4);
  fill_ids(memory.batch.document_starts, 0);
  for (std::size_t i = 0; i < memory.parameters().all().size(); ++i) {
    const auto elements = static_cast<std::size_t>(memory.parameters().all()[i].shape.elements());
    memory.set_weights(static_cast<int>(i), std::vector<float>(elements, 0.01F));
  }
  for (const Tensor& moments : memory.optimizer().flat())
    std::fill_n(moments.data, moments.bytes(), std::byte{0});
  memory.train_micro_batch(1, 0, true);
  memory.train_micro_batch(1, 1, false);
  memory.update(1e-3, 1);
  memory.evaluate();
  // The longest prompt at once, and one token by one.
  const ArenaScope scope(arenas.device);
  const TrainMemory::Decoding sample = memory.start_decoding();
  fill_ids(sample.tokens, 5);
  memory.decode(sample, sample.tokens.elements(), 0);
  memory.decode(sample, 1, sample.tokens.elements() - 1);
  return arenas.device.plan().peak_bytes;
}

}  // namespace

/// The plan of a training step against what the step takes, and against formulas.
class TestPlan : public QObject {
  Q_OBJECT

 private slots:
  void configurations_data();
  void planned_is_taken_to_the_byte_data() { configurations_data(); }
  void planned_is_taken_to_the_byte();
  void live_buffers_do_not_overlap_data() { configurations_data(); }
  void live_buffers_do_not_overlap();
  void layers_keep_what_the_ladder_says_data() { configurations_data(); }
  void layers_keep_what_the_ladder_says();
  void moments_take_what_the_formula_says_data() { configurations_data(); }
  void moments_take_what_the_formula_says();
  void weights_take_what_the_formula_says_data() { configurations_data(); }
  void weights_take_what_the_formula_says();
  void peak_grows_with_every_size_data() { configurations_data(); }
  void peak_grows_with_every_size();
  void parameters_are_what_is_allocated_data() { configurations_data(); }
  void parameters_are_what_is_allocated();
  void twice_the_batch_is_twice_the_activations();
  void each_level_keeps_less();
  void impossible_splits_are_refused();
  void absurd_sizes_are_planned();
};

void TestPlan::configurations_data() {
  QTest::addColumn<int>("number");
  for (int number = 0; number < kConfigurations; ++number) {
    const auto seed = static_cast<std::uint64_t>(number);
    QTest::addRow("%d: %s", number, random_configuration(seed).text().c_str()) << number;
  }
}

void TestPlan::planned_is_taken_to_the_byte() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const auto backend = make_backend({.threads = 1});
  const std::int64_t planned = peak_of(at);
  QCOMPARE(run_inside(at, *backend, planned), planned);
  ATHANOR_EXPECT_ERROR(run_inside(at, *backend, planned - Arena::kAlignment_bytes),
                       ErrorKind::internal, "more memory than was planned");
}

void TestPlan::live_buffers_do_not_overlap() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const TrainPlan plan = plan_training(at.model, at.train, BackendTraits());
  const auto end_of = [&](const Arena::Record& buffer) {
    return buffer.end_moment == 0 ? plan.moments + 1 : buffer.end_moment;
  };
  const auto low_of = [&](const Arena::Record& buffer) {
    return buffer.borrowed ? plan.memory.peak_bytes - buffer.offset_bytes - buffer.size_bytes
                           : buffer.offset_bytes;
  };
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const Arena::Record& first = plan.buffers[i];
    QVERIFY(low_of(first) >= 0);
    QVERIFY(low_of(first) + first.size_bytes <= plan.memory.peak_bytes);
    for (std::size_t j = i + 1; j < plan.buffers.size(); ++j) {
      const Arena::Record& second = plan.buffers[j];
      const bool together =
          first.first_moment < end_of(second) && second.first_moment < end_of(first);
      const bool apart = low_of(first) + first.size_bytes <= low_of(second) ||
                         low_of(second) + second.size_bytes <= low_of(first);
      QVERIFY2(!together || apart, (first.name.text() + " and " + second.name.text()).c_str());
    }
  }
}

void TestPlan::layers_keep_what_the_ladder_says() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const TrainPlan plan = plan_training(at.model, at.train, BackendTraits());
  for (std::int64_t layer = 0; layer < at.model.layers; ++layer)
    QCOMPARE(kept_in_plan(plan, layer), kept_by_formula(at, layer));
}

void TestPlan::moments_take_what_the_formula_says() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const TrainPlan plan = plan_training(at.model, at.train, BackendTraits());
  const std::int64_t expected = optimizer_by_formula(at);
  QCOMPARE(plan.memory.of(MemoryRole::optimizer), at.train.offload_moments ? 0 : expected);
  QCOMPARE(plan.host.of(MemoryRole::optimizer), at.train.offload_moments ? expected : 0);
}

void TestPlan::weights_take_what_the_formula_says() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const TrainConfig& train = at.train;
  const TrainPlan plan = plan_training(at.model, train, BackendTraits());
  const std::int64_t flat = ParameterTable(at.model).flat_elements();
  const std::int64_t master_bytes = train.weights == WeightStorage::bf16_master  ? 4
                                    : train.weights == WeightStorage::bf16_split ? 2
                                                                                 : 0;
  const std::int64_t weight_bytes = train.weights == WeightStorage::f32 ? 4 : 2;
  const std::int64_t master = whole_lines(master_bytes * flat);
  QCOMPARE(plan.memory.of(MemoryRole::weights),
           whole_lines(weight_bytes * flat) + (train.offload_master ? 0 : master));
  QCOMPARE(plan.host.of(MemoryRole::weights), train.offload_master ? master : 0);
  const std::int64_t gradients = whole_lines((train.gradients == Precision::bf16 ? 2 : 4) * flat);
  QCOMPARE(plan.host.of(MemoryRole::gradients), train.offload_gradients ? gradients : 0);
  if (!train.offload_gradients) QCOMPARE(plan.memory.of(MemoryRole::gradients), gradients);
}

void TestPlan::peak_grows_with_every_size() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const std::int64_t peak = peak_of(at);
  Configuration larger = at;
  ++larger.train.micro_batch;
  QVERIFY2(peak_of(larger) >= peak, "micro-batch");
  larger = at;
  ++larger.model.context;
  QVERIFY2(peak_of(larger) >= peak, "context");
  larger = at;
  ++larger.model.layers;
  QVERIFY2(peak_of(larger) >= peak, "layers");
  larger = at;
  ++larger.model.vocabulary;
  QVERIFY2(peak_of(larger) >= peak, "vocabulary");
  larger = at;
  ++larger.train.head_chunk_tokens;
  QVERIFY2(peak_of(larger) >= peak, "head chunk");
}

void TestPlan::parameters_are_what_is_allocated() {
  QFETCH(int, number);
  const Configuration at = random_configuration(static_cast<std::uint64_t>(number));
  const ModelConfig& model = at.model;
  const std::int64_t d = model.width;
  const std::int64_t k = model.kv_heads * model.head_dim();
  const std::int64_t matrices = model.gated() ? 3 : 2;
  const std::int64_t q = model.heads * model.head_dim();
  std::int64_t layer = d * (q + 2 * k) + d * q + matrices * d * model.ffn + 2 * d;
  if (model.biases) layer += (matrices - 1) * model.ffn + d;
  if (model.qkv_biases) layer += q + 2 * k;
  if (model.qk_norm) layer += 2 * model.head_dim();
  const std::int64_t count = model.vocabulary * d * (model.tied ? 1 : 2) + model.layers * layer + d;
  const TrainPlan plan = plan_training(model, at.train, BackendTraits());
  QCOMPARE(plan.parameters, count);
  const auto weights = std::find_if(
      plan.buffers.begin(), plan.buffers.end(),
      [](const Arena::Record& buffer) { return std::string_view(buffer.name.what) == "weights"; });
  const std::int64_t bytes = count * (at.train.weights == WeightStorage::f32 ? 4 : 2);
  QVERIFY(weights->size_bytes >= bytes);
  // Each tensor may be filled up to a cache line.
  const std::int64_t tensors = 3 + 11 * model.layers;
  QVERIFY(weights->size_bytes < bytes + (tensors + 1) * Arena::kAlignment_bytes);
}

void TestPlan::twice_the_batch_is_twice_the_activations() {
  Configuration at = random_configuration(1);
  at.model.context = 16;
  at.train.micro_batch = 2;
  at.train.head_chunk_tokens = 16;
  const auto activations = [&] {
    const TrainPlan plan = plan_training(at.model, at.train, BackendTraits());
    // A sample is one sequence, whatever the batch.
    const std::int64_t sample = plan.phases.back().moment;
    return std::accumulate(plan.buffers.begin(), plan.buffers.end(), std::int64_t{0},
                           [&](std::int64_t sum, const Arena::Record& buffer) {
                             const bool counts = buffer.role == MemoryRole::activations &&
                                                 buffer.first_moment <= sample;
                             return sum + (counts ? buffer.size_bytes : 0);
                           });
  };
  const std::int64_t once = activations();
  at.train.micro_batch = 4;
  QCOMPARE(activations(), 2 * once);
}

void TestPlan::each_level_keeps_less() {
  Configuration at;
  // So many that offloaded inputs are more than what they are copied through.
  at.model.layers = 12;
  at.model.context = 64;
  at.train.micro_batch = 4;
  at.train.head_chunk_tokens = 16;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t level = 0; level < kKeepLevels; ++level) {
    at.train.recompute_level = level;
    at.train.recompute_further_layers = 0;
    const std::int64_t peak = peak_of(at);
    QVERIFY2(peak < before, std::to_string(level).c_str());
    if (level + 1 < kKeepLevels) {
      // A split lies between its two neighbours.
      at.train.recompute_further_layers = at.model.layers / 2;
      QVERIFY(peak_of(at) < peak);
    }
    before = peak;
  }
}

void TestPlan::impossible_splits_are_refused() {
  Configuration at;
  at.train.recompute_further_layers = at.model.layers + 1;
  ATHANOR_EXPECT_ERROR(peak_of(at), ErrorKind::invalid_argument, "must be at most model.layers");
  at.train.recompute_further_layers = 1;
  at.train.recompute_level = 7;
  ATHANOR_EXPECT_ERROR(peak_of(at), ErrorKind::invalid_argument, "no further level");
}

void TestPlan::absurd_sizes_are_planned() {
  Configuration at;
  at.model = {.vocabulary = 1 << 20,
              .layers = 512,
              .width = 32768,
              .heads = 512,
              .kv_heads = 512,
              .ffn = 131072,
              .context = 131072};
  at.train.micro_batch = 4096;
  // The largest settings there are still count right: 512 layers keep their QKV alone.
  const std::int64_t qkv = std::int64_t{4096} * 131072 * 3 * 32768 * 4;
  QVERIFY(peak_of(at) > 512 * qkv);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestPlan)
#include "test_plan.moc"
