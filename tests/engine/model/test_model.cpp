// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <cstring>

#include "engine/backend/plan/plan_backend.h"
#include "engine/backend/registry.h"
#include "engine/base/philox.h"
#include "engine/model/transformer.h"
#include "tests/support/expect_error.h"
#include "tests/support/in_arena.h"
#include "tests/support/reference_backend.h"

namespace athanor {
namespace {

ModelConfig small_model() {
  return {.vocabulary = 31,
          .layers = 2,
          .width = 16,
          .heads = 4,
          .kv_heads = 2,
          .ffn = 24,
          .context = 8};
}

/// One model with random weights and a batch of two sequences, all in one arena.
struct Scene {
  Scene(const ModelConfig& model, Backend& backend)
      : Scene(model, backend, backend.compute_type()) {}
  /// With gradients of the same type as activations.
  Scene(const ModelConfig& model, Backend& backend, DType activations)
      : arena(32 << 20), transformer(model, backend, arena, model.context, activations) {
    const std::int64_t flat = transformer.parameters().flat_elements();
    const DType real = backend.compute_type();
    const std::int64_t rows = 2 * model.context;
    weights = random_tensor(arena, real, {flat}, 5, 0.3, 0);
    gradients = zero_tensor(arena, activations, {flat});
    losses = zero_tensor(arena, real, {rows});
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> targets;
    std::vector<std::int32_t> starts;
    const Philox random(3, 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto index = static_cast<std::uint64_t>(i);
      tokens.push_back(static_cast<std::int32_t>(random.word(2 * index) % 31));
      targets.push_back(i == 3 ? -1 : static_cast<std::int32_t>(random.word(2 * index + 1) % 31));
      // A second document begins in the middle of each sequence.
      starts.push_back(i % model.context >= 5 ? 5 : 0);
    }
    for (std::int64_t layer = 0; layer < model.layers; ++layer)
      host_inputs.push_back(zero_tensor(arena, activations, {rows, model.width}));
    batch = {integer_tensor(arena, tokens), integer_tensor(arena, targets),
             integer_tensor(arena, starts)};
  }

  double loss() {
    constexpr double kGradient_scale = 0.1;
    transformer.begin_micro_batch(kGradient_scale, 4);
    transformer.train(pass(), arena);
    double sum = 0;
    for (std::int64_t i = 0; i < losses.elements(); ++i)
      sum += value_at(losses, i);
    return sum * kGradient_scale;
  }

  Transformer::TrainPass pass() const {
    return {.batch = batch,
            .weights = weights,
            .gradients = gradients,
            .gradients_on_host = gradients_on_host,
            .first_of_step = first_of_step,
            .host_inputs = host_inputs,
            .losses = losses,
            .head_chunk_tokens = 5,
            .recompute = recompute,
            .dropout_seed = 9};
  }

  Arena arena;
  Transformer transformer;
  Tensor weights;
  Tensor gradients;
  Tensor losses;
  Transformer::Batch batch;
  std::vector<Tensor> host_inputs;
  Recompute recompute;
  bool gradients_on_host = false;
  bool first_of_step = true;
};

}  // namespace

class TestModel : public QObject {
  Q_OBJECT

 private slots:
  void refuses_shapes_that_cannot_be_built_data();
  void refuses_shapes_that_cannot_be_built();
  void heads_may_have_a_size_of_their_own();
  void parameter_counts_data();
  void parameter_counts();
  void parameters_tile_the_flat_tensor();
  void gradients_match_finite_differences_data();
  void gradients_match_finite_differences();
  void recomputing_changes_no_bit_data() { gradients_match_finite_differences_data(); }
  void recomputing_changes_no_bit();
  void recomputing_changes_no_bit_in_bf16_data() { recomputing_changes_no_bit_data(); }
  void recomputing_changes_no_bit_in_bf16();
  void gradients_on_the_host_have_the_same_bits_data() { recomputing_changes_no_bit_data(); }
  void gradients_on_the_host_have_the_same_bits();
  void decoding_equals_evaluating();
  void recorded_memory_is_what_a_pass_takes();

 private:
  /// The same loss and gradients at every level and split.
  static void check_levels(const ModelConfig& model, Scene& scene);
};

void TestModel::refuses_shapes_that_cannot_be_built_data() {
  QTest::addColumn<int>("width");
  QTest::addColumn<int>("heads");
  QTest::addColumn<int>("kv_heads");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("heads do not divide")
      << 128 << 5 << 1
      << "Each of the model.heads must get an equal, even share of model.width: 5 heads do not fit "
         "a width of 128. The nearest number of heads that fits is 4.";
  QTest::newRow("odd heads") << 60 << 4 << 2 << "The nearest number of heads that fits is 3.";
  QTest::newRow("odd width") << 129 << 4 << 2
                             << "model.width must be an even number; it is 129. Choose 128 or 130.";
  QTest::newRow("no advice that is refused") << 1024 << 3 << 1 << "that fits is 4.";
  QTest::newRow("no heads fit") << 2062 << 4 << 2 << "choose another, such as 2048.";
  QTest::newRow("key heads") << 128 << 8 << 3 << "model.kv_heads must divide model.heads";
  QTest::newRow("width out of bounds") << 4 << 1 << 1 << "model.width must be between 8 and 32768";
  QTest::newRow("wide heads")
      << 1024 << 2 << 1 << "at most 256 are supported. The nearest number of heads that fits is 4.";
}

void TestModel::refuses_shapes_that_cannot_be_built() {
  QFETCH(int, width);
  QFETCH(int, heads);
  QFETCH(int, kv_heads);
  QFETCH(QString, sentence);
  ModelConfig model;
  model.width = width;
  model.heads = heads;
  model.kv_heads = kv_heads;
  ATHANOR_EXPECT_ERROR(check_model_config(model), ErrorKind::invalid_argument,
                       sentence.toStdString());
}

void TestModel::heads_may_have_a_size_of_their_own() {
  ModelConfig model;
  model.heads = 5;
  model.kv_heads = 1;
  model.head_size = 7;
  ATHANOR_EXPECT_ERROR(check_model_config(model), ErrorKind::invalid_argument,
                       "model.head_size must be an even number; it is 7. Choose 6 or 8.");
  model.head_size = 258;
  ATHANOR_EXPECT_ERROR(check_model_config(model), ErrorKind::invalid_argument,
                       "model.head_size must be between 0 and 256");
  model.head_size = 48;
  check_model_config(model);
  QCOMPARE(model.head_dim(), 48);
}

void TestModel::parameter_counts_data() {
  QTest::addColumn<ModelConfig>("model");
  QTest::addColumn<qlonglong>("count");
  ModelConfig tiny{.vocabulary = 50304,
                   .layers = 12,
                   .width = 768,
                   .heads = 12,
                   .kv_heads = 4,
                   .ffn = 2048,
                   .context = 512,
                   .activation = Activation::gelu};
  QTest::newRow("TinyGPT2, two matrices") << tiny << 95'275'776LL;
  tiny.activation = Activation::swiglu;
  QTest::newRow("TinyGPT2, gated") << tiny << 114'150'144LL;
  QTest::newRow("1B") << ModelConfig{.vocabulary = 50304,
                                     .layers = 24,
                                     .width = 1792,
                                     .heads = 16,
                                     .kv_heads = 16,
                                     .ffn = 4480,
                                     .context = 4096}
                      << 976'541'440LL;
  QTest::newRow("SmolLM2-135M") << ModelConfig{.vocabulary = 49152,
                                               .layers = 30,
                                               .width = 576,
                                               .heads = 9,
                                               .kv_heads = 3,
                                               .ffn = 1536,
                                               .context = 2048}
                                << 134'515'008LL;
}

void TestModel::parameter_counts() {
  QFETCH(ModelConfig, model);
  QFETCH(qlonglong, count);
  QCOMPARE(ParameterTable(model).count(), count);
}

void TestModel::parameters_tile_the_flat_tensor() {
  ModelConfig model = small_model();
  model.tied = false;
  model.biases = true;
  model.qkv_biases = true;
  model.head_size = 6;
  model.qk_norm = true;
  const ParameterTable table(model);
  std::int64_t end = 0;
  for (const Parameter& parameter : table.all()) {
    QVERIFY2(parameter.offset >= end, parameter.name.c_str());
    QCOMPARE(parameter.offset % 16, 0);
    end = parameter.offset + parameter.shape.elements();
  }
  QVERIFY(end <= table.flat_elements());
  QVERIFY(table.flat_elements() - end < 16);
}

void TestModel::gradients_match_finite_differences_data() {
  QTest::addColumn<ModelConfig>("model");
  QTest::newRow("gated, tied") << small_model();
  ModelConfig plain = small_model();
  plain.activation = Activation::gelu;
  plain.biases = true;
  plain.tied = false;
  QTest::newRow("GELU, biases, untied") << plain;
  plain.activation = Activation::relu2;
  plain.kv_heads = 4;
  QTest::newRow("squared ReLU, a key head for each query head") << plain;
  plain.activation = Activation::silu;
  plain.kv_heads = 1;
  QTest::newRow("SiLU, one key head") << plain;
  ModelConfig normed = small_model();
  normed.qk_norm = true;
  normed.dropout = 0.3;
  QTest::newRow("QK-norm, dropout") << normed;
  ModelConfig wide = small_model();
  wide.qkv_biases = true;
  wide.head_size = 6;
  QTest::newRow("biases of queries, keys and values, heads wider than their share") << wide;
  wide.qk_norm = true;
  wide.head_size = 2;
  QTest::newRow("the same with QK-norm, narrower heads") << wide;
}

void TestModel::gradients_match_finite_differences() {
  QFETCH(ModelConfig, model);
  ReferenceBackend backend;
  Scene scene(model, backend);
  scene.loss();
  std::vector<double> analytic;
  for (std::int64_t i = 0; i < scene.gradients.elements(); ++i) {
    analytic.push_back(value_at(scene.gradients, i));
  }
  // Central differences err by h²·f'''/6 and by ε·|f|/h: about 1e-9 here, for gradients up to one.
  constexpr double kStep = 1e-5;
  constexpr double kTolerance = 2e-8;
  double worst = 0;
  for (const Parameter& parameter : scene.transformer.parameters().all()) {
    for (const std::int64_t part : {0, 1, 2, 3}) {
      const std::int64_t at = parameter.offset + part * (parameter.shape.elements() - 1) / 3;
      const double value = value_at(scene.weights, at);
      set_value(scene.weights, at, value + kStep);
      const double above = scene.loss();
      set_value(scene.weights, at, value - kStep);
      const double below = scene.loss();
      set_value(scene.weights, at, value);
      const double error =
          std::abs((above - below) / (2 * kStep) - analytic[static_cast<std::size_t>(at)]);
      QVERIFY2(error < kTolerance, (parameter.name + " " + std::to_string(error)).c_str());
      worst = std::max(worst, error);
    }
  }
  qInfo("largest difference %.2e", worst);
}

void TestModel::recomputing_changes_no_bit() {
  QFETCH(ModelConfig, model);
  const auto backend = make_backend();
  Scene scene(model, *backend);
  check_levels(model, scene);
}

void TestModel::recomputing_changes_no_bit_in_bf16() {
  QFETCH(ModelConfig, model);
  const auto backend = make_backend();
  Scene fp32(model, *backend);
  Scene scene(model, *backend, DType::bf16);
  // Every rounding is a half of 2⁻⁸; some hundred of them add up at random.
  QVERIFY(std::abs(scene.loss() / fp32.loss() - 1) < 0.02);
  check_levels(model, scene);
}

void TestModel::check_levels(const ModelConfig& model, Scene& scene) {
  const double loss = scene.loss();
  const std::vector<std::byte> gradients(scene.gradients.byte_span().begin(),
                                         scene.gradients.byte_span().end());
  for (std::int64_t level = 0; level < kKeepLevels; ++level) {
    const std::int64_t most_further = level + 1 < kKeepLevels ? model.layers : 0;
    for (std::int64_t further = 0; further <= most_further; ++further) {
      scene.recompute = {level, further};
      const std::string place = "S" + std::to_string(level) + ", " + std::to_string(further);
      QVERIFY2(scene.loss() == loss, place.c_str());
      QVERIFY2(std::memcmp(scene.gradients.data, gradients.data(),
                           static_cast<std::size_t>(scene.gradients.bytes())) == 0,
               place.c_str());
    }
  }
}

void TestModel::gradients_on_the_host_have_the_same_bits() {
  QFETCH(ModelConfig, model);
  const auto backend = make_backend();
  Scene scene(model, *backend);
  const auto two_micro_batches = [&] {
    scene.first_of_step = true;
    // Whatever was there before does not count.
    fill(scene.gradients, 7);
    scene.loss();
    scene.first_of_step = false;
    scene.loss();
    return std::vector<float>(scene.gradients.span<float>().begin(),
                              scene.gradients.span<float>().end());
  };
  const std::vector<float> expected = two_micro_batches();
  scene.gradients_on_host = true;
  QVERIFY(two_micro_batches() == expected);
}

void TestModel::decoding_equals_evaluating() {
  ModelConfig model = small_model();
  model.qk_norm = true;
  model.qkv_biases = true;
  model.head_size = 6;
  ReferenceBackend backend;
  Scene scene(model, backend);
  const auto logits_after = [&](const std::vector<std::int64_t>& pieces) {
    const Transformer::KeyValueCache cache =
        scene.transformer.take_cache(model.context, scene.arena);
    const Tensor logits = zero_tensor(scene.arena, DType::f64, {model.vocabulary});
    std::int64_t position = 0;
    for (const std::int64_t piece : pieces) {
      scene.transformer.decode(scene.batch.tokens.slice_rows(position, piece), position,
                               scene.weights, cache, logits, scene.arena);
      position += piece;
    }
    return logits;
  };
  const Tensor at_once = logits_after({5});
  const Tensor in_pieces = logits_after({2, 1, 1, 1});
  for (std::int64_t i = 0; i < model.vocabulary; ++i) {
    QVERIFY(std::abs(value_at(at_once, i) - value_at(in_pieces, i)) < 1e-12);
  }
  // The loss of row 4 is that of its target under the logits after five tokens.
  scene.transformer.evaluate(scene.batch, scene.weights, scene.losses, 5, scene.arena);
  double sum = 0;
  for (std::int64_t i = 0; i < model.vocabulary; ++i)
    sum += std::exp(value_at(at_once, i));
  const std::int64_t target = scene.batch.targets.span<std::int32_t>()[4];
  QVERIFY(std::abs(value_at(scene.losses, 4) - (std::log(sum) - value_at(at_once, target))) <
          1e-12);
}

void TestModel::recorded_memory_is_what_a_pass_takes() {
  const ModelConfig model = small_model();
  const auto run = [&](Backend& backend, Arena& arena) {
    Transformer transformer(model, backend, arena, model.context, backend.compute_type());
    const Tensor flat =
        arena.take(MemoryRole::weights, DType::f32, {transformer.parameters().flat_elements()});
    const Tensor gradients = arena.take(MemoryRole::gradients, DType::f32, flat.shape);
    const Tensor tokens = arena.take(MemoryRole::batch, DType::i32, {16});
    const Tensor losses = arena.take(MemoryRole::batch, DType::f32, {16});
    transformer.train({.batch = {tokens, tokens, tokens},
                       .weights = flat,
                       .gradients = gradients,
                       .losses = losses},
                      arena);
  };
  PlanBackend plan;
  Arena recording;
  run(plan, recording);
  const auto backend = make_backend();
  Arena real(recording.plan().peak_bytes);
  run(*backend, real);
  QCOMPARE(real.plan().peak_bytes, real.allocated_bytes());
  Arena smaller(recording.plan().peak_bytes - Arena::kAlignment_bytes);
  ATHANOR_EXPECT_ERROR(run(*backend, smaller), ErrorKind::internal, "more memory than was planned");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestModel)
#include "test_model.moc"
