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
  void same_seed_gives_the_same_text();
  void a_trained_model_continues_its_text();
  void a_long_prompt_is_cut_and_said();
  void a_full_context_slides();
  void what_is_known_is_not_read_again_data();
  void what_is_known_is_not_read_again();
  void stop_texts_end_the_answer();
  void choices_are_the_models_own();
  void speed_is_measured_over_all_tokens();
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

void TestGeneration::a_full_context_slides() {
  Generator trained = generator();
  const auto ignore = [](const std::string&) {};
  SamplingOptions options{.temperature = 0, .max_tokens = 3 * tiny_model().context};
  const Generation stopped = trained.generate("Old Peter", options, CancelToken(), ignore);
  QVERIFY(stopped.end == Generation::End::context_full ||
          stopped.end == Generation::End::end_of_text);
  options.when_full = WhenFull::slide;
  options.logit_bias = {{data_->tokenizer.end_of_text(), -1000.0F}};
  const Generation slid = trained.generate("Old Peter", options, CancelToken(), ignore);
  QVERIFY(slid.end == Generation::End::length);
  QCOMPARE(slid.tokens, options.max_tokens);
  QVERIFY(slid.slid_tokens > 0);
  QCOMPARE(trained.generate("Old Peter", options, CancelToken(), ignore).text, slid.text);
}

void TestGeneration::what_is_known_is_not_read_again_data() {
  QTest::addColumn<WeightFormat>("format");
  for (const WeightFormat format : {WeightFormat::as_saved, WeightFormat::q8_0, WeightFormat::q4_0})
    QTest::newRow(names_of(format)[static_cast<std::size_t>(format)].data()) << format;
}

/// And the answer is the same to the bit as when everything is read at once.
void TestGeneration::what_is_known_is_not_read_again() {
  QFETCH(const WeightFormat, format);
  const auto ignore = [](const std::string&) {};
  const SamplingOptions options{.temperature = 1, .seed = 3, .max_tokens = 8, .alternatives = 3};
  Generator talked = generator(format);
  const std::string prompt = "Anna";
  const Generation first = talked.generate(prompt, options, CancelToken(), ignore);
  QCOMPARE(first.reused_prompt_tokens, 0);
  std::vector<std::int32_t> longer = talked.prompt_tokens(prompt);
  for (const TokenChoice& choice : first.choices)
    longer.push_back(choice.id);
  const std::size_t known = longer.size() - 1;  // the last one was drawn, never read
  for (const std::int32_t id : talked.prompt_tokens(" The miller sold a boat."))
    longer.push_back(id);
  const Generation reused = talked.generate(longer, options, CancelToken(), ignore);
  QVERIFY(reused.reused_prompt_tokens >= static_cast<std::int64_t>(known) - 1);
  Generator fresh = generator(format);
  const Generation whole = fresh.generate(longer, options, CancelToken(), ignore);
  QCOMPARE(whole.reused_prompt_tokens, 0);
  QCOMPARE(reused.text, whole.text);
  QCOMPARE(reused.choices.size(), whole.choices.size());
  for (std::size_t i = 0; i < whole.choices.size(); ++i) {
    QCOMPARE(reused.choices[i].id, whole.choices[i].id);
    QVERIFY(reused.choices[i].probability == whole.choices[i].probability);
  }
}

/// Everything before the second word of what comes without it.
void TestGeneration::stop_texts_end_the_answer() {
  Generator trained = generator();
  SamplingOptions options{.temperature = 0, .max_tokens = 24};
  const auto ignore = [](const std::string&) {};
  const std::string whole = trained.generate("Old Peter", options, CancelToken(), ignore).text;
  options.stop = {whole.substr(5, 4)};
  const Generation cut = trained.generate("Old Peter", options, CancelToken(), ignore);
  QVERIFY(cut.end == Generation::End::stop_text);
  QCOMPARE(cut.text, whole.substr(0, whole.find(options.stop[0])));
}

void TestGeneration::choices_are_the_models_own() {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.2F), std::log(0.3F)};
  const TokenChoice choice = describe_choice(logits, 1, 2);
  QCOMPARE(choice.id, 1);
  QCOMPARE(choice.probability, 0.2F);
  QCOMPARE(choice.best.size(), std::size_t{2});
  QCOMPARE(choice.best[0].id, 0);
  QCOMPARE(choice.best[1].id, 2);
  QCOMPARE(choice.best[1].probability, 0.3F);
  QCOMPARE(describe_choice(logits, 0, 100).best.size(), std::size_t{3});

  Generator trained = generator();
  const auto ignore = [](const std::string&) {};
  SamplingOptions options{.temperature = 0, .max_tokens = 12, .alternatives = 4};
  const Generation told = trained.generate("Old Peter", options, CancelToken(), ignore);
  QCOMPARE(static_cast<std::int64_t>(told.choices.size()), told.tokens);
  std::string text;
  for (const TokenChoice& each : told.choices) {
    text += data_->tokenizer.token_bytes(each.id);
    QCOMPARE(each.best.size(), std::size_t{4});
    QCOMPARE(each.best[0].id, each.id);
    QVERIFY(each.best[0].probability >= each.best[1].probability);
  }
  QCOMPARE(text, told.text);
  options.alternatives = 0;
  QVERIFY(trained.generate("Old Peter", options, CancelToken(), ignore).choices.empty());
}

void TestGeneration::speed_is_measured_over_all_tokens() {
  Generator trained = generator();
  const Generation made = trained.measure_speed(20, 10, CancelToken());
  QCOMPARE(made.prompt_tokens, 20);
  QCOMPARE(made.tokens, 10);
  QVERIFY(made.prompt_tokens_per_second() > 0);
  QVERIFY(made.tokens_per_second() > 0);
  QVERIFY(made.seconds >= made.prompt_seconds);
  ATHANOR_EXPECT_ERROR(trained.measure_speed(tiny_model().context, 2, CancelToken()),
                       ErrorKind::invalid_argument, "do not fit");
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
