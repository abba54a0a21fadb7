// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <cmath>
#include <limits>

#include "engine/backend/registry.h"
#include "engine/infer/generator.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

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

 private:
  Generator generator(const std::string& checkpoint = "step-00000400");

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

Generator TestGeneration::generator(const std::string& checkpoint) {
  const std::filesystem::path folder =
      data_->folder.filePath(QString::fromStdString("checkpoints/" + checkpoint)).toStdString();
  return Generator(tiny_model(), SafetensorsFile::open(folder / "weights.safetensors"),
                   data_->tokenizer, *backend_);
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
  const std::filesystem::path file =
      data_->folder.filePath("checkpoints/step-00000400/weights.safetensors").toStdString();
  ATHANOR_EXPECT_ERROR(Generator(wider, SafetensorsFile::open(file), data_->tokenizer, *backend_),
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

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestGeneration)
#include "test_generation.moc"
