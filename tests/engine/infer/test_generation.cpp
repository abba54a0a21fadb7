// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <limits>

#include "engine/backend/registry.h"
#include "engine/infer/generator.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

Q_DECLARE_METATYPE(athanor::WeightFormat)

namespace athanor {
namespace {
constexpr std::int64_t kSteps = 400;
}

class TestGeneration : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void greedy_takes_the_most_probable();
  void top_k_and_top_p_cut_the_tail();
  void draws_follow_the_distribution();
  void output_that_is_no_number_is_an_error();
  void utf8_comes_whole_data();
  void utf8_comes_whole();
  void same_seed_gives_the_same_text();
  void a_trained_model_continues_its_text();
  void a_long_prompt_is_cut_and_said();
  void cancelling_ends_at_once();
  void weights_of_another_shape_are_refused();
  void bf16_weights_take_half_and_say_the_same();
  void quantised_weights_take_less_and_say_the_same_data();
  void quantised_weights_take_less_and_say_the_same();
  void rows_that_are_no_whole_blocks_stay_as_saved();
  void weights_that_cannot_be_quantised_are_refused();

 private:
  Generator generator(WeightFormat format = WeightFormat::as_saved);

  std::filesystem::path weights_file() const;

  std::unique_ptr<TinyData> data_;
  std::unique_ptr<Backend> backend_;
};

void TestGeneration::initTestCase() {
  data_ = std::make_unique<TinyData>();
  backend_ = make_backend();
  TrainConfig config = tiny_train(kSteps);
  config.learning_rate = 1e-2;
  config.checkpoint_interval = 0;
  Trainer trainer(data_->inputs(tiny_model(), config), *backend_);
  TrainControl control;
  TrainRecorder recorder;
  trainer.run(control, recorder);
}

Generator TestGeneration::generator(WeightFormat format) {
  return Generator(tiny_model(), SafetensorsFile::open(weights_file()), data_->tokenizer, *backend_,
                   format);
}

std::filesystem::path TestGeneration::weights_file() const {
  return data_->folder.filePath("checkpoints/step-00000400/weights.safetensors").toStdString();
}

void TestGeneration::greedy_takes_the_most_probable() {
  Sampler sampler({.temperature = 0});
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 2.0F};
  for (int i = 0; i < 10; ++i)
    QCOMPARE(sampler.sample(logits, i), 1);
}

void TestGeneration::top_k_and_top_p_cut_the_tail() {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.15F),
                                     std::log(0.05F)};
  Sampler two({.temperature = 1, .top_k = 2, .top_p = 1});
  Sampler most({.temperature = 1, .top_k = 0, .top_p = 0.81});
  for (int i = 0; i < 500; ++i) {
    QVERIFY(two.sample(logits, i) < 2);
    QVERIFY(most.sample(logits, i) < 3);
  }
}

void TestGeneration::draws_follow_the_distribution() {
  const std::vector<float> logits = {std::log(0.6F), std::log(0.3F), std::log(0.1F)};
  Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1});
  constexpr int kDraws = 20000;
  std::array<int, 3> counts{};
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<std::size_t>(sampler.sample(logits, i))];
  // Five standard deviations of a binomial count.
  const std::array<double, 3> expected = {0.6, 0.3, 0.1};
  for (std::size_t i = 0; i < 3; ++i) {
    const double deviation = std::sqrt(kDraws * expected[i] * (1 - expected[i]));
    QVERIFY(std::abs(counts[i] - kDraws * expected[i]) < 5 * deviation);
  }
}

void TestGeneration::output_that_is_no_number_is_an_error() {
  Sampler sampler(SamplingOptions{});
  const std::vector<float> logits = {1, std::numeric_limits<float>::quiet_NaN()};
  ATHANOR_EXPECT_ERROR(sampler.sample(logits, 0), ErrorKind::non_finite, "earlier checkpoint");
}

void TestGeneration::utf8_comes_whole_data() {
  QTest::addColumn<QByteArray>("bytes");
  QTest::addColumn<QByteArray>("text");
  const QByteArray replaced = "\xEF\xBF\xBD";
  QTest::newRow("ASCII") << QByteArray("abc") << QByteArray("abc");
  QTest::newRow("four bytes") << QByteArray("\xF0\x9F\x94\xA5!") << QByteArray("\xF0\x9F\x94\xA5!");
  QTest::newRow("never a character") << QByteArray(
                                            "a\xFF"
                                            "b")
                                     << QByteArray("a" + replaced + "b");
  QTest::newRow("cut short") << QByteArray("a\xE2\x82") << QByteArray("a" + replaced);
  QTest::newRow("a new one begins too early")
      << QByteArray("\xE2\x82z") << QByteArray(replaced + "z");
  QTest::newRow("surrogate") << QByteArray("\xED\xA0\x80")
                             << QByteArray(replaced + replaced + replaced);
}

void TestGeneration::utf8_comes_whole() {
  QFETCH(QByteArray, bytes);
  QFETCH(QByteArray, text);
  Utf8Stream stream;
  std::string given;
  for (const char byte : bytes) {
    const std::string piece = stream.push(std::string_view(&byte, 1));
    QVERIFY(QString::fromUtf8(piece.data(), static_cast<qsizetype>(piece.size())).toStdString() ==
            piece);
    given += piece;
  }
  given += stream.finish();
  QCOMPARE(QByteArray::fromStdString(given), text);
}

void TestGeneration::same_seed_gives_the_same_text() {
  Generator one = generator();
  const auto ignore = [](const std::string&) {};
  const SamplingOptions options{.temperature = 1, .seed = 5, .max_tokens = 20};
  const Generation first = one.generate("Anna", options, CancelToken(), ignore);
  std::string streamed;
  const Generation again = one.generate("Anna", options, CancelToken(),
                                        [&](const std::string& piece) { streamed += piece; });
  QCOMPARE(again.text, first.text);
  QCOMPARE(streamed, first.text);
  SamplingOptions other = options;
  other.seed = 6;
  QVERIFY(one.generate("Anna", other, CancelToken(), ignore).text != first.text);
}

void TestGeneration::a_trained_model_continues_its_text() {
  Generator trained = generator();
  const Generation result = trained.generate("Old Peter", {.temperature = 0, .max_tokens = 24},
                                             CancelToken(), [](const std::string&) {});
  // Every sentence of the text goes on with one of six verbs.
  const QRegularExpression verb("^ (found|lost|carried|painted|sold|hid) ");
  QVERIFY2(verb.match(QString::fromStdString(result.text)).hasMatch(), result.text.c_str());
}

void TestGeneration::a_long_prompt_is_cut_and_said() {
  Generator trained = generator();
  const Generation result = trained.generate(tiny_text(2000), {.max_tokens = 100}, CancelToken(),
                                             [](const std::string&) {});
  QVERIFY(result.dropped_prompt_tokens > 0);
  QCOMPARE(result.prompt_tokens, tiny_model().context / 2);
  QVERIFY(result.prompt_tokens + result.tokens <= tiny_model().context + 1);
}

void TestGeneration::cancelling_ends_at_once() {
  Generator trained = generator();
  CancelToken cancel;
  const Generation result = trained.generate("", {.max_tokens = 100}, cancel,
                                             [&](const std::string&) { cancel.request(); });
  QVERIFY(result.end == Generation::End::cancelled);
  QVERIFY(result.tokens <= 4);
}

void TestGeneration::weights_of_another_shape_are_refused() {
  ModelConfig wider = tiny_model();
  wider.ffn = 72;
  ATHANOR_EXPECT_ERROR(
      Generator(wider, SafetensorsFile::open(weights_file()), data_->tokenizer, *backend_),
      ErrorKind::damaged, "layers.0.up");
}

void TestGeneration::bf16_weights_take_half_and_say_the_same() {
  TrainConfig config = tiny_train(kSteps);
  config.learning_rate = 1e-2;
  config.checkpoint_interval = 0;
  config.weights = WeightStorage::bf16_split;
  const Trainer::Inputs inputs = data_->inputs(tiny_model(), config, "bf16");
  Trainer trainer(inputs, *backend_);
  TrainControl control;
  TrainRecorder recorder;
  trainer.run(control, recorder);
  Generator wide = generator();
  Generator half(tiny_model(),
                 SafetensorsFile::open(inputs.checkpoints / "step-00000400/weights.safetensors"),
                 data_->tokenizer, *backend_);
  const std::int64_t weights = plan_training(tiny_model(), config, BackendTraits()).parameters;
  QVERIFY(wide.allocated_bytes() - half.allocated_bytes() >= 2 * weights);
  const Generation said = half.generate("The miller", {.temperature = 0, .max_tokens = 20},
                                        CancelToken(), [](const std::string&) {});
  QCOMPARE(said.tokens, 20);
  QVERIFY(said.text.find("the") != std::string::npos);
}

void TestGeneration::quantised_weights_take_less_and_say_the_same_data() {
  QTest::addColumn<WeightFormat>("format");
  QTest::newRow("q8_0") << WeightFormat::q8_0;
  QTest::newRow("q4_0") << WeightFormat::q4_0;
}

void TestGeneration::quantised_weights_take_less_and_say_the_same() {
  QFETCH(const WeightFormat, format);
  Generator wide = generator();
  Generator few_bits = generator(format);
  QCOMPARE(few_bits.unquantised(), 0);
  // Of each matrix 4 bytes a number become 34 / 32 or, in the layers, 18 / 32; what the products
  // round x to takes room for one call.
  const ModelConfig model = tiny_model();
  const ParameterTable table(model);
  double saved_bytes = 0;
  for (const Parameter& parameter : table.all()) {
    if (parameter.shape.rank() != 2) continue;
    const bool four_bits = format == WeightFormat::q4_0 && parameter.name != "embedding";
    saved_bytes +=
        static_cast<double>(parameter.shape.elements()) * (4 - (four_bits ? 18 : 34) / 32.0);
  }
  const std::int64_t scratch_bytes =
      quantised_linear_scratch_bytes(backend_->traits(), model.context, model.ffn, model.width);
  // Tensors begin on cache lines: scales of small matrices pad.
  const double padding =
      2.0 * Arena::kAlignment_bytes * (4.0 * static_cast<double>(model.layers) + 2);
  const auto saved = static_cast<double>(wide.allocated_bytes() - few_bits.allocated_bytes());
  QVERIFY2(saved <= saved_bytes, qPrintable(QString::number(saved)));
  QVERIFY2(saved >= saved_bytes - padding - static_cast<double>(scratch_bytes),
           qPrintable(QString::number(saved)));

  const auto said = [&](Generator& by, const SamplingOptions& options) {
    return by.generate("Old Peter", options, CancelToken(), [](const std::string&) {}).text;
  };
  const SamplingOptions seeded{.temperature = 1, .seed = 5, .max_tokens = 20};
  QCOMPARE(said(few_bits, seeded), said(few_bits, seeded));
  Generator again = generator(format);
  QCOMPARE(said(again, seeded), said(few_bits, seeded));
  const QRegularExpression verb("^ (found|lost|carried|painted|sold|hid) ");
  const std::string greedy = said(few_bits, {.temperature = 0, .max_tokens = 24});
  QVERIFY2(verb.match(QString::fromStdString(greedy)).hasMatch(), greedy.c_str());
}

namespace {

/// A file of the model's tensors, all of them `value`.
std::filesystem::path uniform_weights(const QTemporaryDir& folder, const ModelConfig& model,
                                      float value) {
  const ParameterTable table(model);
  std::vector<float> numbers(static_cast<std::size_t>(table.flat_elements()), value);
  const Tensor flat{
      reinterpret_cast<std::byte*>(numbers.data()), DType::f32, {table.flat_elements()}};
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < table.all().size(); ++i)
    tensors.push_back({table.all()[i].name, table.view(flat, static_cast<int>(i))});
  const std::filesystem::path path = folder.filePath("uniform.safetensors").toStdString();
  write_safetensors(path, tensors);
  return path;
}

}  // namespace

void TestGeneration::rows_that_are_no_whole_blocks_stay_as_saved() {
  ModelConfig model = tiny_model();
  model.ffn = 72;
  const QTemporaryDir folder;
  const SafetensorsFile file = SafetensorsFile::open(uniform_weights(folder, model, 0.01F));
  Generator mixed(model, file, data_->tokenizer, *backend_, WeightFormat::q8_0);
  QCOMPARE(mixed.unquantised(), 2);
  const Generation made = mixed.generate("a", {.temperature = 0, .max_tokens = 3}, CancelToken(),
                                         [](const std::string&) {});
  QVERIFY(made.tokens > 0 || made.end == Generation::End::end_of_text);
}

void TestGeneration::weights_that_cannot_be_quantised_are_refused() {
  const QTemporaryDir folder;
  for (const float value : {std::numeric_limits<float>::infinity(), 1e30F, std::nanf("")}) {
    const SafetensorsFile file =
        SafetensorsFile::open(uniform_weights(folder, tiny_model(), value));
    ATHANOR_EXPECT_ERROR(
        Generator(tiny_model(), file, data_->tokenizer, *backend_, WeightFormat::q4_0),
        ErrorKind::damaged, "the tensor embedding has numbers");
  }
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestGeneration)
#include "test_generation.moc"
