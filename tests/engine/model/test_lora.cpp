// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <cstring>
#include <optional>

#include "engine/backend/plan/plan_backend.h"
#include "engine/backend/registry.h"
#include "engine/base/philox.h"
#include "engine/model/adapted_weights.h"
#include "engine/model/loaded_weights.h"
#include "engine/model/transformer.h"
#include "engine/tensor/bf16.h"
#include "tests/support/expect_error.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

ModelConfig small_model() {
  return {.vocabulary = 31,
          .layers = 2,
          .width = 32,
          .heads = 4,
          .kv_heads = 2,
          .ffn = 64,
          .context = 8};
}

/// A model's numbers, the same for the same parameter; BF16 rounds none of them.
class RandomWeights : public WeightSource {
 public:
  std::string name() const override { return "random numbers"; }
  DType type() const override { return DType::f32; }
  void read(int parameter, std::int64_t first, std::span<float> to) const override {
    const Philox random(5, static_cast<std::uint64_t>(parameter));
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = widened(nearest_bf16(0.3F * random.normal(static_cast<std::uint64_t>(first) + i)));
  }
};

WeightFormat format_of(FrozenStorage base) {
  if (base == FrozenStorage::q8_0) return WeightFormat::q8_0;
  return base == FrozenStorage::q4_0 ? WeightFormat::q4_0 : WeightFormat::as_saved;
}

/// The reference has numbers in double precision only.
DType numbers_type(const LoraConfig& config, const Backend& backend) {
  const bool as_computed =
      config.base == FrozenStorage::f32 || backend.compute_type() == DType::f64;
  return as_computed ? backend.compute_type() : DType::bf16;
}

/// A frozen model with random adapters, and a batch of two sequences.
struct Scene {
  Scene(const ModelConfig& shape, const LoraConfig& config, Backend& backend)
      : model(shape),
        arena(32 << 20),
        transformer(model, backend, arena, model.context, backend.compute_type(), config),
        base(transformer.parameters(), format_of(config.base), numbers_type(config, backend), arena,
             VocabularyFormat::numbers) {
    base.load(RandomWeights(), backend);
    const Shape flat{transformer.adapters().flat_elements()};
    adapters = random_tensor(arena, backend.compute_type(), flat, 6, 0.3, 0);
    gradients = zero_tensor(arena, backend.compute_type(), flat);
    const std::int64_t rows = 2 * model.context;
    losses = zero_tensor(arena, backend.compute_type(), {rows});
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> targets;
    std::vector<std::int32_t> starts;
    const Philox random(3, 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      tokens.push_back(static_cast<std::int32_t>(random.word(2 * index) % 31));
      targets.push_back(i == 3 ? -1 : static_cast<std::int32_t>(random.word(2 * index + 1) % 31));
      starts.push_back(i % model.context >= 5 ? 5 : 0);
    }
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      host_inputs.push_back(zero_tensor(arena, backend.compute_type(), {rows, model.width}));
    batch = {integer_tensor(arena, tokens), integer_tensor(arena, targets),
             integer_tensor(arena, starts)};
  }

  double sum_of_losses() const {
    double sum = 0;
    for (std::int64_t i = 0; i < losses.elements(); ++i)
      sum += value_at(losses, i);
    return sum;
  }

  double loss() {
    constexpr double kGradient_scale = 0.1;
    transformer.begin_micro_batch(kGradient_scale, 4);
    transformer.train({.batch = batch,
                       .weights = base.view(adapters),
                       .gradients = gradients,
                       .gradients_on_host = gradients_on_host,
                       .first_of_step = first_of_step,
                       .host_inputs = host_inputs,
                       .losses = losses,
                       .head_chunk_tokens = 5,
                       .recompute = recompute,
                       .dropout_seed = 9},
                      arena);
    return sum_of_losses() * kGradient_scale;
  }

  ModelConfig model;
  Arena arena;
  Transformer transformer;
  LoadedWeights base;
  Tensor adapters;
  Tensor gradients;
  Tensor losses;
  Transformer::Batch batch;
  std::vector<Tensor> host_inputs;
  Recompute recompute;
  bool gradients_on_host = false;
  bool first_of_step = true;
};

}  // namespace

/// Adapters beside frozen weights: what they add, and their gradients.
class TestLora : public QObject {
  Q_OBJECT

 private slots:
  void targets_are_named();
  void adapters_count_what_they_should();
  void gradients_match_finite_differences_data() { models(); }
  void gradients_match_finite_differences();
  void recomputing_changes_no_bit_data() { models(); }
  void recomputing_changes_no_bit();
  void gradients_on_the_host_have_the_same_bits();
  void adapters_of_zero_change_no_bit();
  void merged_weights_compute_the_same_data() { models(); }
  void merged_weights_compute_the_same();
  void parts_of_merged_weights_are_parts();

 private:
  static void models();
};

void TestLora::models() {
  QTest::addColumn<ModelConfig>("model");
  QTest::addColumn<LoraConfig>("lora");
  const LoraConfig lora{.rank = 3, .alpha = 4};
  QTest::newRow("all targets") << small_model() << lora;
  ModelConfig plain = small_model();
  plain.activation = Activation::gelu;
  plain.biases = true;
  plain.qkv_biases = true;
  plain.tied = false;
  QTest::newRow("GELU, biases, untied") << plain << lora;
  ModelConfig normed = small_model();
  normed.qk_norm = true;
  normed.dropout = 0.3;
  LoraConfig dropping = lora;
  dropping.dropout = 0.4;
  dropping.rs_lora = true;
  QTest::newRow("QK-norm, dropout, rsLoRA") << normed << dropping;
  LoraConfig few = lora;
  few.targets = "v,q";
  QTest::newRow("queries and values") << small_model() << few;
  few.targets = "down";
  QTest::newRow("the MLP's second matrix") << plain << few;
  LoraConfig quantised = lora;
  for (const FrozenStorage base : {FrozenStorage::bf16, FrozenStorage::q8_0, FrozenStorage::q4_0}) {
    quantised.base = base;
    QTest::newRow(names_of(base)[static_cast<std::size_t>(base)].data())
        << small_model() << quantised;
  }
}

void TestLora::targets_are_named() {
  using enum LoraTarget;
  QCOMPARE(lora_targets({.targets = "down,q"}), (std::vector{q, down}));
  QVERIFY(lora_targets({.targets = ""}).empty());
  ATHANOR_EXPECT_ERROR(lora_targets({.targets = "q,head"}), ErrorKind::invalid_argument,
                       "train.lora_targets must be a list of q, k, v, o, gate, up or down with "
                       "commas between them; \"head\" is none of them.");
}

void TestLora::adapters_count_what_they_should() {
  // SmolLM2-135M: of each matrix rank · (in + out).
  const ModelConfig model{.vocabulary = 49152,
                          .layers = 30,
                          .width = 576,
                          .heads = 9,
                          .kv_heads = 3,
                          .ffn = 1536,
                          .context = 2048};
  const std::int64_t in_layer = (576 + 576) + 2 * (576 + 192) + (576 + 576) + 3 * (576 + 1536);
  QCOMPARE(AdapterTable(model, {.rank = 8}).count(), 8 * 30 * in_layer);
  ModelConfig plain = small_model();
  plain.activation = Activation::relu2;
  const AdapterTable table(plain, {.rank = 2});
  for (const Adapter& adapter : table.of_layer(1))
    QVERIFY(adapter.target != LoraTarget::gate);
}

void TestLora::gradients_match_finite_differences() {
  QFETCH(const ModelConfig, model);
  QFETCH(const LoraConfig, lora);
  ReferenceBackend backend;
  Scene scene(model, lora, backend);
  scene.loss();
  std::vector<double> analytic;
  for (std::int64_t i = 0; i < scene.gradients.elements(); ++i)
    analytic.push_back(value_at(scene.gradients, i));
  // Central differences err by h²·f'''/6 and by ε·|f|/h: about 1e-9 here, for gradients up to one.
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 2e-8;
  double largest = 0;
  for (const Parameter& parameter : scene.transformer.adapters().all()) {
    for (const std::int64_t part : {1, 2}) {
      const std::int64_t at = parameter.offset + part * (parameter.shape.elements() - 1) / 3;
      const double value = value_at(scene.adapters, at);
      set_value(scene.adapters, at, value + kStep);
      const double above = scene.loss();
      set_value(scene.adapters, at, value - kStep);
      const double below = scene.loss();
      set_value(scene.adapters, at, value);
      const double claimed = analytic[static_cast<std::size_t>(at)];
      const double error = std::abs((above - below) / (2 * kStep) - claimed);
      QVERIFY2(error < kTolerance * std::max(1.0, std::abs(claimed)),
               (parameter.name + " " + std::to_string(error)).c_str());
      largest = std::max(largest, std::abs(claimed));
    }
  }
  QVERIFY(largest > 1e-3);
}

void TestLora::recomputing_changes_no_bit() {
  QFETCH(const ModelConfig, model);
  QFETCH(const LoraConfig, lora);
  const auto backend = make_backend();
  Scene scene(model, lora, *backend);
  const double loss = scene.loss();
  const std::vector<std::byte> gradients(scene.gradients.byte_span().begin(),
                                         scene.gradients.byte_span().end());
  for (std::int64_t level = 0; level < kKeepLevels; ++level) {
    const std::int64_t most_further = level + 1 < kKeepLevels ? model.layers : 0;
    for (std::int64_t further = 0; further <= most_further; ++further) {
      scene.recompute = {level, further};
      const std::string place = "S" + std::to_string(level) + ", " + std::to_string(further);
      QVERIFY2(scene.loss() == loss, place.c_str());
      QVERIFY2(std::ranges::equal(scene.gradients.byte_span(), gradients), place.c_str());
    }
  }
}

void TestLora::gradients_on_the_host_have_the_same_bits() {
  const auto backend = make_backend();
  Scene scene(small_model(), {.rank = 3, .dropout = 0.2}, *backend);
  const auto two_micro_batches = [&] {
    scene.first_of_step = true;
    fill(scene.gradients, 7);
    scene.loss();
    scene.first_of_step = false;
    scene.loss();
    const auto numbers = scene.gradients.span<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  const std::vector<float> expected = two_micro_batches();
  scene.gradients_on_host = true;
  QVERIFY(two_micro_batches() == expected);
}

void TestLora::adapters_of_zero_change_no_bit() {
  const auto backend = make_backend();
  Scene scene(small_model(), {.rank = 3}, *backend);
  scene.transformer.evaluate(scene.batch, scene.base.view(), scene.losses, 5, scene.arena);
  const double without = scene.sum_of_losses();
  scene.transformer.evaluate(scene.batch, scene.base.view(scene.adapters), scene.losses, 5,
                             scene.arena);
  QVERIFY(scene.sum_of_losses() != without);
  for (const Adapter& adapter : scene.transformer.adapters().of_layer(0))
    fill(scene.transformer.adapters().view(scene.adapters, adapter.b), 0);
  for (const Adapter& adapter : scene.transformer.adapters().of_layer(1))
    fill(scene.transformer.adapters().view(scene.adapters, adapter.b), 0);
  scene.transformer.evaluate(scene.batch, scene.base.view(scene.adapters), scene.losses, 5,
                             scene.arena);
  QCOMPARE(scene.sum_of_losses(), without);
}

void TestLora::merged_weights_compute_the_same() {
  QFETCH(const ModelConfig, model);
  QFETCH(const LoraConfig, lora);
  ReferenceBackend backend;
  Scene scene(model, lora, backend);
  scene.transformer.evaluate(scene.batch, scene.base.view(scene.adapters), scene.losses, 5,
                             scene.arena);
  const double expected = scene.sum_of_losses();
  class Adapters : public WeightSource {
   public:
    explicit Adapters(const Scene& of) : scene_(of) {}
    std::string name() const override { return "adapters"; }
    DType type() const override { return DType::f32; }
    void read(int parameter, std::int64_t first, std::span<float> to) const override {
      const Tensor from = scene_.transformer.adapters().view(scene_.adapters, parameter);
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<float>(value_at(from, first + static_cast<std::int64_t>(i)));
    }

   private:
    const Scene& scene_;
  };
  const RandomWeights base;
  const AdaptedWeights merged(model, lora, base, Adapters(scene));
  const LoadedWeights loaded(scene.transformer.parameters(), WeightFormat::as_saved, DType::f64,
                             scene.arena);
  loaded.load(merged, backend);
  scene.transformer.evaluate(scene.batch, loaded.view(), scene.losses, 5, scene.arena);
  // Merged weights are FP32: each is rounded by 2⁻²⁴ of itself, at random.
  QVERIFY(std::abs(scene.sum_of_losses() / expected - 1) < 1e-6);
}

void TestLora::parts_of_merged_weights_are_parts() {
  const ModelConfig model = small_model();
  const LoraConfig lora{.rank = 3, .base = FrozenStorage::q4_0};
  const RandomWeights numbers;
  const AdaptedWeights merged(model, lora, numbers, numbers);
  const int qkv = ParameterTable(model).layer(1).qkv;
  std::vector<float> whole(64 * 32);
  merged.read(qkv, 0, whole);
  std::vector<float> part(71);
  merged.read(qkv, 1005, part);
  QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + 1005));
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestLora)
#include "test_lora.moc"
