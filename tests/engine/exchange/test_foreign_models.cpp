// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include "engine/base/file.h"
#include "tests/engine/exchange/sample_models.h"
#include "tests/support/expect_error.h"

using namespace athanor;

namespace fs = std::filesystem;

/// Models of other programs, read from their own files.
class TestForeignModels : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;
  int made_ = 0;

  fs::path new_folder() { return folder_.filePath(QString("model-%1").arg(++made_)).toStdString(); }

  /// The small Llama with a field of its config.json set.
  fs::path llama_with(const char* field, const Json& value) {
    const SampleModel sample = sample_model("llama");
    const fs::path folder = new_folder();
    write_sample(folder, sample.config);
    Json config = sample.config;
    config[field] = value;
    write_file_atomically(folder / "config.json", config.dump());
    return folder;
  }

 private slots:
  void computes_what_transformers_computes_data() {
    QTest::addColumn<QByteArray>("name");
    for (const SampleModel& model : sample_models())
      QTest::newRow(model.name.c_str()) << QByteArray::fromStdString(model.name);
  }
  void computes_what_transformers_computes() {
    QFETCH(const QByteArray, name);
    const SampleModel sample = sample_model(name.toStdString());
    const fs::path folder = new_folder();
    write_sample(folder, sample.config);
    const ForeignModel foreign = open_foreign_model(folder, {});
    QVERIFY(foreign.settings.notices.empty());
    const std::vector<float> found = logits_after(foreign, sample.tokens);
    // Logits are up to 5.5 with a last digit of 2^-21; both sides round in FP32 through some forty
    // sums of up to 96 terms one after the other, each of which may move them by about one digit.
    const float difference = largest_difference(found, sample.logits);
    qInfo("largest difference %.2e", static_cast<double>(difference));
    QVERIFY(difference < 40 * 0x1p-21F);
  }

  void several_files_are_one_model() {
    const SampleModel sample = sample_model("qwen3");
    const fs::path whole = new_folder();
    const fs::path parts = new_folder();
    write_sample(whole, sample.config);
    write_sample(parts, sample.config);
    fs::remove(parts / "model.safetensors");
    const std::vector<SampleTensor> tensors = sample_tensors(sample.config);
    Json map;
    std::vector<std::vector<SampleTensor>> shards(3);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      shards[i % 3].push_back(tensors[i]);
      map[tensors[i].name] = "part-" + std::to_string(i % 3) + ".safetensors";
    }
    for (std::size_t i = 0; i < shards.size(); ++i)
      write_tensors(parts / ("part-" + std::to_string(i) + ".safetensors"), shards[i]);
    const fs::path index = parts / "model.safetensors.index.json";
    write_file_atomically(index, Json{{"weight_map", map}}.dump());
    QVERIFY(all_numbers(open_foreign_model(parts, {}).weights) ==
            all_numbers(open_foreign_model(whole, {}).weights));

    for (const char* const name : {"../part-0.safetensors", "/etc/passwd", "..", "", "a/b"}) {
      Json bad = map;
      bad[tensors[0].name] = name;
      write_file_atomically(index, Json{{"weight_map", bad}}.dump());
      ATHANOR_EXPECT_ERROR(open_foreign_model(parts, {}), ErrorKind::damaged,
                           "names no file of the folder");
    }
    map.erase(tensors[0].name);
    write_file_atomically(index, Json{{"weight_map", map}}.dump());
    ATHANOR_EXPECT_ERROR(open_foreign_model(parts, {}), ErrorKind::damaged, "part-0.safetensors");
  }

  void any_part_of_a_parameter_can_be_read() {
    const fs::path folder = new_folder();
    write_sample(folder, sample_model("qwen2").config);
    const ForeignModel foreign = open_foreign_model(folder, {});
    const int qkv = foreign.weights.parameters().layer(1).qkv;
    const std::vector<float> whole = numbers_of(foreign.weights, qkv);
    for (const std::size_t first : {0, 1, 63, 64, 4095, 4096, 5000}) {
      for (const std::size_t count : {1, 49, 1000}) {
        std::vector<float> part(count);
        foreign.weights.read(qkv, static_cast<std::int64_t>(first), part);
        QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(first)));
      }
    }
  }

  void bf16_stays_bf16() {
    const SampleModel sample = sample_model("llama");
    std::vector<SampleTensor> tensors = sample_tensors(sample.config);
    const fs::path folder = new_folder();
    write_sample(folder, sample.config, tensors, DType::bf16);
    QVERIFY(open_foreign_model(folder, {}).weights.type() == DType::bf16);
    write_sample(folder, sample.config, tensors);
    QVERIFY(open_foreign_model(folder, {}).weights.type() == DType::f32);
  }

  void the_context_can_be_chosen() {
    const fs::path folder = llama_with("max_position_embeddings", 20000);
    const ForeignModel usual = open_foreign_model(folder, {});
    QCOMPARE(usual.settings.model.context, kUsualContext);
    QCOMPARE(usual.settings.notices.size(), std::size_t{1});
    QCOMPARE(open_foreign_model(folder, {.context = 20000}).settings.model.context, 20000);
    for (const std::int64_t context : {7, 20001})
      ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {.context = context}),
                           ErrorKind::invalid_argument, "between 8 and 20000 tokens");
  }

  void a_sliding_window_limits_the_context() {
    Json config = sample_model("mistral").config;
    const fs::path folder = new_folder();
    config["sliding_window"] = 16;
    write_sample(folder, config);
    const ForeignModel foreign = open_foreign_model(folder, {});
    QCOMPARE(foreign.settings.model.context, 16);
    QVERIFY(foreign.settings.notices.at(0).find("sliding window") != std::string::npos);
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {.context = 17}), ErrorKind::invalid_argument,
                         "between 8 and 16");
  }

  void unknown_fields_are_told() {
    const ForeignModel foreign = open_foreign_model(llama_with("magic_factor", 3), {});
    QCOMPARE(foreign.settings.notices.size(), std::size_t{1});
    QVERIFY(foreign.settings.notices[0].find("magic_factor") != std::string::npos);
  }

  void what_cannot_be_honoured_is_refused_data() {
    QTest::addColumn<QByteArray>("field");
    QTest::addColumn<QByteArray>("value");
    QTest::addColumn<bool>("damaged");
    QTest::addColumn<QByteArray>("part");
    const auto row = [](const char* field, const char* value, const char* part, bool damaged) {
      QTest::addRow("%s %s", field, value)
          << QByteArray(field) << QByteArray(value) << damaged << QByteArray(part);
    };
    const auto unsupported = [&](const char* field, const char* value, const char* part) {
      row(field, value, part, false);
    };
    const auto damage = [&](const char* field, const char* value, const char* part) {
      row(field, value, part, true);
    };
    unsupported("model_type", "\"gpt2\"", "learned positions (n_positions), LayerNorm");
    unsupported("model_type", "\"mamba\"", "of the kind \"mamba\"");
    unsupported("hidden_act", "\"gelu\"", "hidden_act is \"gelu\"");
    unsupported("attention_bias", "true", "attention_bias");
    unsupported("rope_scaling", R"({"rope_type":"llama3","factor":8.0})", "rope_scaling");
    unsupported("rope_parameters", R"({"rope_type":"yarn"})", "rope_parameters is of the type");
    unsupported("rope_parameters", R"({"factor":2})", "rope_parameters has the field factor");
    unsupported("partial_rotary_factor", "0.5", "partial_rotary_factor");
    unsupported("quantization_config", R"({"bits":4})", "quantization_config");
    unsupported("layer_types", R"(["full_attention","sliding_attention"])", "layer_types");
    unsupported("num_attention_heads", "100000", "model.heads");
    unsupported("hidden_size", "9", "model.width");
    unsupported("rms_norm_eps", "5", "model.norm_epsilon");
    damage("model_type", "null", "model_type is missing");
    damage("hidden_size", "null", "hidden_size is missing");
    damage("hidden_size", "-1", "hidden_size is not a whole number");
    damage("hidden_size", "1e300", "hidden_size is not a whole number");
    damage("num_hidden_layers", "\"two\"", "num_hidden_layers is not a whole number");
    damage("head_dim", "0", "heads have no elements");
    unsupported("num_attention_heads", "0", "model.heads");
    damage("tie_word_embeddings", "1", "tie_word_embeddings is neither true nor false");
    damage("rms_norm_eps", "\"small\"", "rms_norm_eps is not a number");
    damage("layer_types", "3", "layer_types is not a list");
    damage("num_hidden_layers", "3", "has no tensor model.layers.2.input_layernorm.weight");
    damage("vocab_size", "321", "the tensor model.embed_tokens.weight has the shape [320, 64]");
    damage("tie_word_embeddings", "false", "has no tensor lm_head.weight");
    unsupported("num_hidden_layers", "1", "has the tensor model.layers.1.");
  }
  void what_cannot_be_honoured_is_refused() {
    QFETCH(const QByteArray, field);
    QFETCH(const QByteArray, value);
    QFETCH(const bool, damaged);
    QFETCH(const QByteArray, part);
    const fs::path folder = llama_with(field.constData(), parse_json(value.toStdString(), "value"));
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {}),
                         damaged ? ErrorKind::damaged : ErrorKind::unsupported, part.toStdString());
  }

  void spare_tensors_are_passed_over_and_others_refused() {
    const SampleModel sample = sample_model("llama");
    std::vector<SampleTensor> tensors = sample_tensors(sample.config);
    const fs::path folder = new_folder();
    tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {1}, {1}});
    tensors.push_back({"lm_head.weight", {1}, {1}});
    write_sample(folder, sample.config, tensors);
    open_foreign_model(folder, {});
    tensors.push_back({"model.layers.0.self_attn.sinks", {1}, {1}});
    write_sample(folder, sample.config, tensors);
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {}), ErrorKind::unsupported,
                         "self_attn.sinks, for which a model of the kind llama");
  }

  void numbers_that_are_none_are_found() {
    const SampleModel sample = sample_model("llama");
    std::vector<SampleTensor> tensors = sample_tensors(sample.config);
    tensors[0].numbers[100] = std::numeric_limits<float>::quiet_NaN();
    const fs::path folder = new_folder();
    write_sample(folder, sample.config, tensors);
    const ForeignModel foreign = open_foreign_model(folder, {});
    ATHANOR_EXPECT_ERROR(numbers_of(foreign.weights, 0), ErrorKind::damaged,
                         "model.embed_tokens.weight has values that are not numbers, in row 1");
  }

  void what_is_no_model_is_said() {
    const fs::path folder = new_folder();
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {}), ErrorKind::not_found, "There is no file");
    create_folders(folder);
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {}), ErrorKind::invalid_argument,
                         "is no model that can be imported");
    write_file_atomically(folder / "notes.txt", "hello");
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder / "notes.txt", {}), ErrorKind::invalid_argument,
                         "is no model that can be imported");
    write_sample(folder, sample_model("llama").config);
    fs::remove(folder / "model.safetensors");
    write_file_atomically(folder / "pytorch_model.bin", "");
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {}), ErrorKind::unsupported,
                         "only pytorch_model.bin");
    fs::remove(folder / "config.json");
    for (const char* const name : {"a.gguf", "b.gguf"})
      write_file_atomically(folder / name, "GGUF");
    ATHANOR_EXPECT_ERROR(open_foreign_model(folder, {}), ErrorKind::invalid_argument,
                         "several GGUF files");
  }
};

QTEST_APPLESS_MAIN(TestForeignModels)
#include "test_foreign_models.moc"
