// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest/QtTest>
#include <cmath>

#include "engine/base/file.h"
#include "engine/data/tokenizer_description.h"
#include "engine/exchange/export_model.h"
#include "engine/io/gguf.h"
#include "tests/engine/exchange/sample_models.h"
#include "tests/support/expect_error.h"
#include "tests/support/file_size_limit.h"

using namespace athanor;

namespace fs = std::filesystem;

/// Checkpoints written for other programs, and read again.
class TestExports : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  int made_ = 0;

  fs::path new_path() { return folder_.filePath(QString("m%1").arg(++made_)).toStdString(); }

  /// A model of this program: what an imported one becomes.
  struct Own {
    ModelConfig model;
    fs::path weights;
    Tokenizer tokenizer;
    ModelCard card{.name = "A small/model", .chat_template = "{{ x }}", .begin_of_text = 259};

    ExportSource source(const WeightSource& from) const { return {model, from, tokenizer, card}; }
  };

  static Tokenizer tokenizer() {
    return Tokenizer(std::vector<Tokenizer::Merge>{{104, 101}, {108, 108}, {256, 257}});
  }

  Own own(const ModelConfig& model, std::vector<std::vector<float>> numbers) {
    std::vector<NamedTensor> tensors;
    const ParameterTable table(model);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      tensors.push_back(
          {table.all()[i].name,
           {reinterpret_cast<std::byte*>(numbers[i].data()), DType::f32, table.all()[i].shape}});
    }
    const fs::path path = new_path();
    write_safetensors(path, tensors);
    return {.model = model, .weights = path, .tokenizer = tokenizer()};
  }

  Own own_of(const std::string& sample) {
    const fs::path folder = new_path();
    write_sample(folder, sample_model(sample).config);
    const ForeignModel foreign = open_foreign_model(folder, {});
    return own(foreign.settings.model, all_numbers(foreign.weights));
  }

  Own own_with(const ModelConfig& model) {
    std::vector<std::vector<float>> numbers;
    const ParameterTable table(model);
    for (const Parameter& parameter : table.all())
      numbers.push_back(initial_values(parameter, static_cast<int>(numbers.size()), 1));
    return own(model, std::move(numbers));
  }

  fs::path exported(const Own& own, const ExportOptions& options) {
    const fs::path folder = new_path();
    const SafetensorsFile file = SafetensorsFile::open(own.weights);
    const CheckpointWeights weights(file, ParameterTable(own.model).all());
    export_model(own.source(weights), options, folder, CancelToken(), {});
    return folder;
  }

  static qsizetype entries_in(const fs::path& folder) {
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  static void add_samples() {
    QTest::addColumn<QByteArray>("name");
    for (const SampleModel& model : sample_models())
      QTest::newRow(model.name.c_str()) << QByteArray::fromStdString(model.name);
  }

  static Json fields(const ModelConfig& model) { return settings_to_json(model); }

 private slots:
  void hugging_face_gives_the_same_model_data() { add_samples(); }
  void hugging_face_gives_the_same_model() {
    QFETCH(const QByteArray, name);
    const Own own = own_of(name.toStdString());
    const fs::path folder = exported(own, {.kind = FileKind::hugging_face});
    const ForeignModel again = open_foreign_model(folder, {});
    QCOMPARE(fields(again.settings.model).dump(), fields(own.model).dump());
    QVERIFY(again.settings.notices.empty());
    QCOMPARE(again.card.chat_template, own.card.chat_template);
    const SafetensorsFile weights = SafetensorsFile::open(own.weights);
    for (int i = 0; i < static_cast<int>(again.weights.parameters().all().size()); ++i) {
      const Parameter& parameter = again.weights.parameters().all()[static_cast<std::size_t>(i)];
      const Tensor expected = weights.find(parameter.name, DType::f32, parameter.shape);
      QVERIFY(std::ranges::equal(numbers_of(again.weights, i), expected.span<const float>()));
    }
    const std::string text = "hello, hell and 12";
    QVERIFY(again.tokenizer.encode(text) == own.tokenizer.encode(text));
    QCOMPARE(again.tokenizer.end_of_text(), own.tokenizer.end_of_text());
    QCOMPARE(again.card.begin_of_text, own.card.begin_of_text);
    // Mistral's shape is Llama's.
    const Json config = read_json_file(folder / "config.json");
    const std::string kind = config.at("model_type").get<std::string>();
    QVERIFY(name.startsWith(QByteArray::fromStdString(kind)) ||
            (name == "mistral" && kind == "llama"));
  }

  void gguf_gives_the_same_model_data() {
    QTest::addColumn<QByteArray>("name");
    QTest::addColumn<int>("type");
    QTest::addColumn<double>("step");
    // What a number of a block up to 0.5 is off at most: half a step of its format; of q4_0 a whole
    // one of 1/8, and of all blocks what the scale's own rounding to F16 is.
    const std::vector<std::pair<NumberFormat, double>> types = {
        {NumberFormat::f32, 0},
        {NumberFormat::f16, 0.5 * 0x1p-11},
        {NumberFormat::bf16, 0.5 * 0x1p-8},
        {NumberFormat::q8_0, 0.5 * (0.5 / 127 + 0x1p-11)},
        {NumberFormat::q4_0, 0.5 * (1.0 / 8 + 0x1p-11)}};
    for (const SampleModel& model : sample_models()) {
      for (const auto& [type, step] : types) {
        if (model.name == "arcee-gelu") continue;
        QTest::addRow("%s %s", model.name.c_str(), name_of(type).data())
            << QByteArray::fromStdString(model.name) << static_cast<int>(type) << step;
      }
    }
  }
  void gguf_gives_the_same_model() {
    QFETCH(const QByteArray, name);
    QFETCH(const int, type);
    QFETCH(const double, step);
    const Own own = own_of(name.toStdString());
    const auto format = static_cast<NumberFormat>(type);
    const fs::path folder = exported(own, {.kind = FileKind::gguf, .type = format});
    const std::string file = "A-small-model-" + std::string(name_of(format)) + ".gguf";
    QVERIFY(fs::exists(folder / file));
    QCOMPARE(entries_in(folder), 2);
    const std::string modelfile = read_small_file(folder / "Modelfile");
    QVERIFY(modelfile.starts_with("FROM ./" + file + "\nPARAMETER num_ctx 64\n"));
    const ForeignModel again = open_foreign_model(folder, {});
    // The file has these two in FP32.
    ModelConfig expected = own.model;
    expected.rope_base = static_cast<float>(expected.rope_base);
    expected.norm_epsilon = static_cast<double>(static_cast<float>(expected.norm_epsilon));
    QCOMPARE(fields(again.settings.model).dump(), fields(expected).dump());
    const SafetensorsFile weights = SafetensorsFile::open(own.weights);
    for (int i = 0; i < static_cast<int>(again.weights.parameters().all().size()); ++i) {
      const Parameter& parameter = again.weights.parameters().all()[static_cast<std::size_t>(i)];
      const Tensor known = weights.find(parameter.name, DType::f32, parameter.shape);
      const std::vector<float> found = numbers_of(again.weights, i);
      const double allowed = parameter.shape.rank() == 1 ? 0 : step;
      for (std::size_t at = 0; at < found.size(); ++at)
        QVERIFY(std::abs(found[at] - known.span<const float>()[at]) <= allowed);
    }
    const std::string text = "hello, hell and 12";
    QVERIFY(again.tokenizer.encode(text) == own.tokenizer.encode(text));
    QCOMPARE(again.tokenizer.end_of_text(), own.tokenizer.end_of_text());
    QCOMPARE(again.card.begin_of_text, own.card.begin_of_text);
    QCOMPARE(again.card.chat_template, own.card.chat_template);
  }

  void gguf_has_the_rows_of_llama_in_turns() {
    // llama.cpp's converter: head by head, first and second half one row after the other.
    const ForeignTensor tensor{.name = {}, .shape = {16, 1}, .interleaved_dim = 8};
    const std::vector<std::int64_t> own{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};
    for (std::int64_t row = 0; row < 16; ++row) {
      QCOMPARE(tensor.own_row(row), own[static_cast<std::size_t>(row)]);
      QCOMPARE(tensor.foreign_row(tensor.own_row(row)), row);
    }
    const Own made = own_of("llama");
    const SafetensorsFile weights = SafetensorsFile::open(made.weights);
    const Tensor qkv = weights.find("layers.0.qkv", DType::f32, {128, 64});
    const fs::path folder = exported(made, {.kind = FileKind::gguf});
    const GgufFile file = GgufFile::open(folder / "A-small-model-f32.gguf");
    const auto queries =
        std::ranges::find(file.tensors(), "blk.0.attn_q.weight", &StoredTensor::name);
    // Heads have 16 rows: the second there is the ninth here.
    const auto row = queries->data.subspan(64 * 4, 64 * 4);
    QVERIFY(std::ranges::equal(row, qkv.slice_rows(8, 1).byte_span()));
  }

  void padded_tokens_are_named() {
    const fs::path folder = exported(own_of("llama"), {.kind = FileKind::gguf});
    const GgufFile file = GgufFile::open(folder / "A-small-model-f32.gguf");
    const std::vector<std::string> tokens = *file.texts("tokenizer.ggml.tokens");
    QCOMPARE(tokens.size(), std::size_t{320});
    QCOMPARE(tokens[259], std::string(Tokenizer::kEndOfText));
    QCOMPARE(tokens[260], std::string("[PAD260]"));
    QCOMPARE(file.integers("tokenizer.ggml.token_type")->at(259), 3);
    QCOMPARE(file.integers("tokenizer.ggml.token_type")->at(260), 5);
  }

  void what_others_do_not_have_is_refused_data() {
    QTest::addColumn<ModelConfig>("model");
    QTest::addColumn<int>("kind");
    QTest::addColumn<QByteArray>("part");
    const int gguf = static_cast<int>(FileKind::gguf);
    const int folder = static_cast<int>(FileKind::hugging_face);
    ModelConfig model{.vocabulary = 320,
                      .layers = 1,
                      .width = 32,
                      .heads = 2,
                      .kv_heads = 1,
                      .ffn = 32,
                      .context = 8,
                      .activation = Activation::gelu};
    QTest::newRow("GELU") << model << gguf << QByteArray("model.activation gelu");
    model.qk_norm = true;
    QTest::newRow("QK-norm, GELU") << model << folder << QByteArray("model.qk_norm together");
    model.activation = Activation::swiglu;
    model.biases = true;
    QTest::newRow("QK-norm, biases") << model << folder << QByteArray("with model.biases");
    model.biases = false;
    model.qkv_biases = true;
    QTest::newRow("QK-norm, QKV biases") << model << folder << QByteArray("both model.qkv_biases");
  }
  void what_others_do_not_have_is_refused() {
    QFETCH(const ModelConfig, model);
    QFETCH(const int, kind);
    QFETCH(const QByteArray, part);
    const Own made = own_with(model);
    ATHANOR_EXPECT_ERROR(exported(made, {.kind = static_cast<FileKind>(kind)}),
                         ErrorKind::unsupported, part.toStdString());
  }

  void types_and_places_are_checked() {
    const Own made = own_of("llama");
    ATHANOR_EXPECT_ERROR(
        exported(made, {.kind = FileKind::hugging_face, .type = NumberFormat::q8_0}),
        ErrorKind::invalid_argument, "as q8_0. Choose f32 or bf16.");
    ATHANOR_EXPECT_ERROR(exported(made, {.kind = FileKind::gguf, .type = NumberFormat::q4_k}),
                         ErrorKind::invalid_argument, "as q4_k. Choose f32, f16,");
    const SafetensorsFile file = SafetensorsFile::open(made.weights);
    const CheckpointWeights weights(file, ParameterTable(made.model).all());
    const fs::path taken = new_path();
    create_folders(taken);
    export_model(made.source(weights), {}, taken, CancelToken(), {});
    ATHANOR_EXPECT_ERROR(export_model(made.source(weights), {}, taken, CancelToken(), {}),
                         ErrorKind::invalid_argument, "exists already");
  }

  void nothing_is_left_of_an_export_that_ends_early() {
    const Own made = own_of("llama");
    const SafetensorsFile file = SafetensorsFile::open(made.weights);
    const CheckpointWeights weights(file, ParameterTable(made.model).all());
    const fs::path place = new_path();
    const qsizetype before = entries_in(place.parent_path());
    for (const FileKind kind : {FileKind::hugging_face, FileKind::gguf}) {
      CancelToken cancel;
      const auto stop = [&](const std::string&, std::int64_t, std::int64_t) { cancel.request(); };
      QVERIFY_THROWS_EXCEPTION(
          Cancelled, export_model(made.source(weights), {.kind = kind}, place, cancel, stop));
      const FileSizeLimit limit(16 << 10);
      ATHANOR_EXPECT_ERROR(
          export_model(made.source(weights), {.kind = kind}, place, CancelToken(), {}),
          ErrorKind::io, place.string());
      QCOMPARE(entries_in(place.parent_path()), before);
    }
  }

  void numbers_beyond_f16_are_told() {
    ModelConfig model{.vocabulary = 320,
                      .layers = 1,
                      .width = 32,
                      .heads = 2,
                      .kv_heads = 1,
                      .ffn = 32,
                      .context = 8};
    std::vector<std::vector<float>> numbers;
    const ParameterTable table(model);
    for (const Parameter& parameter : table.all())
      numbers.push_back(initial_values(parameter, static_cast<int>(numbers.size()), 1));
    numbers[0][5] = 1e6F;
    const Own made = own(model, numbers);
    ATHANOR_EXPECT_ERROR(exported(made, {.kind = FileKind::gguf, .type = NumberFormat::f16}),
                         ErrorKind::unsupported,
                         "token_embd.weight has numbers that f16 cannot hold");
  }
};

QTEST_APPLESS_MAIN(TestExports)
#include "test_exports.moc"
