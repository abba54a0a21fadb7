// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "engine/exchange/peft_adapter.h"
#include "engine/session/adapter_exchange.h"
#include "engine/session/chat_session.h"
#include "engine/session/model_exchange.h"
#include "engine/session/run_checkpoint.h"
#include "engine/session/run_weights.h"
#include "engine/session/training_session.h"
#include "tests/engine/exchange/sample_models.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

using namespace athanor;

namespace fs = std::filesystem;

/// Adapters from training to other programs and back.
class TestLoraSession : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  fs::path path(const char* name) const { return folder_.filePath(name).toStdString(); }
  fs::path home() const { return path("home"); }
  fs::path run_folder(std::int64_t run) const { return RunStore(home()).run_folder(run); }
  RunWeights weights_of(std::int64_t run) const {
    std::string notice;
    return RunWeights::open(run_folder(run), {}, notice);
  }

  RunSpec lora_spec() const {
    const RunWeights base = weights_of(1);
    RunSpec spec;
    spec.name = "adapted";
    spec.model = base.spec().model;
    spec.model.context = 32;
    spec.sources = {{.path = path("text.txt").string()}};
    spec.train = tiny_train(12);
    spec.train.lora = {.rank = 4, .alpha = 8, .base = FrozenStorage::q8_0};
    spec.start = {.run = 1, .step = 0};
    return spec;
  }

  static std::vector<float> all_numbers(const RunWeights& weights) {
    std::vector<float> numbers;
    const ParameterTable table(weights.spec().model);
    for (std::size_t i = 0; i < table.all().size(); ++i) {
      const std::size_t before = numbers.size();
      numbers.resize(before + static_cast<std::size_t>(table.all()[i].shape.elements()));
      weights.source().read(static_cast<int>(i), 0, std::span(numbers).subspan(before));
    }
    return numbers;
  }

  static std::string said(const fs::path& run) {
    ChatSession session(run, {});
    const SamplingOptions options{.temperature = 0, .max_tokens = 8};
    return session.generator().generate("The miller", options, CancelToken(), [](auto&) {}).text;
  }

  void change_config(const fs::path& adapter, const char* name, const Json& value) const {
    Json config = read_json_file(adapter / "adapter_config.json");
    config[name] = value;
    write_file_atomically(adapter / "adapter_config.json", config.dump());
  }

 private slots:
  /// Run 1 is the base, run 2 has adapters beside it.
  void initTestCase() {
    write_sample(path("model"), sample_model("llama").config);
    import_model(home(), path("model"), {}, CancelToken(), {});
    write_file_atomically(path("text.txt"), tiny_text(40'000));
    Listener listener;
    TrainControl go;
    listener.at_step = [&](std::int64_t step) {
      if (step == 7) go.stop();
    };
    const SessionEnd end = TrainingSession(home()).start(lora_spec(), go, listener);
    QVERIFY2(end.record.problem.empty(), end.record.problem.c_str());
    QVERIFY(end.record.status == RunStatus::stopped && end.record.id == 2);
    QCOMPARE(listener.started.plan.memory.peak_bytes, listener.started.allocated_bytes);
    QVERIFY(listener.started.plan.trained_parameters < listener.started.plan.parameters / 4);
  }

  void a_run_of_adapters_is_resumed() {
    TrainControl control;
    Listener listener;
    const SessionEnd end = TrainingSession(home()).resume(2, {}, control, listener);
    QVERIFY2(end.record.problem.empty(), end.record.problem.c_str());
    QVERIFY(end.record.status == RunStatus::finished);
    QCOMPARE(listener.steps.front().step, 8);
    // The base's weights are not in its folder.
    const auto bytes =
        fs::file_size(run_folder(2) / "checkpoints" / "step-00000012" / "weights.safetensors");
    QVERIFY(bytes < fs::file_size(weights_of(1).checkpoint() / "weights.safetensors") / 2);
    QVERIFY(read_json_file(run_folder(2) / "checkpoints" / "step-00000012" / "state.json")
                .at("base")
                .at("fingerprint") == weights_of(1).fingerprint());
  }

  void merged_it_says_the_same() {
    QVERIFY(all_numbers(weights_of(1)) != all_numbers(weights_of(2)));
    const RunRecord merged = merge_run(home(), 2, {}, "whole", CancelToken(), {});
    QCOMPARE(merged.name, std::string("whole"));
    QVERIFY(all_numbers(weights_of(merged.id)) == all_numbers(weights_of(2)));
    QCOMPARE(said(run_folder(merged.id)), said(run_folder(2)));
    QCOMPARE(model_card_of(run_folder(merged.id), Tokenizer::load(run_folder(1) / "tokenizer.json"))
                 .begin_of_text,
             model_card_of(run_folder(1), Tokenizer::load(run_folder(1) / "tokenizer.json"))
                 .begin_of_text);
    ATHANOR_EXPECT_ERROR(merge_run(home(), 1, {}, "", CancelToken(), {}),
                         ErrorKind::invalid_argument, "has no adapters");
    ATHANOR_EXPECT_ERROR(merge_run(home(), 99, {}, "", CancelToken(), {}), ErrorKind::not_found,
                         "There is no run 99");
    export_run(run_folder(2), {.folder = path("exported")}, CancelToken(), {});
    const ForeignModel foreign = open_foreign_model(path("exported"), {});
    std::vector<float> numbers(64);
    std::vector<float> expected(64);
    foreign.weights.read(2, 0, numbers);
    weights_of(2).source().read(2, 0, expected);
    QVERIFY(numbers == expected);
  }

  void adapters_come_back_from_peft() {
    export_adapter(run_folder(2), {}, path("adapter"));
    const PeftAdapter read = read_peft_adapter(path("adapter"), weights_of(1).spec().model);
    QCOMPARE(read.lora.rank, 4);
    QCOMPARE(read.lora.alpha, 8.0);
    std::vector<float> numbers(read.parameters[3].size());
    weights_of(2).adapters()->read(3, 0, numbers);
    QVERIFY(numbers == read.parameters[3]);
    const RunRecord again = import_adapter(home(), path("adapter"), 1, "again");
    const RunWeights imported = weights_of(again.id);
    imported.adapters()->read(3, 0, numbers);
    QVERIFY(numbers == read.parameters[3]);
    QVERIFY(is_imported(again));
    ATHANOR_EXPECT_ERROR(export_adapter(run_folder(1), {}, path("none")),
                         ErrorKind::invalid_argument, "has no adapters");
  }

  void adapters_of_others_are_refused_by_name() {
    const auto read = [&](const ModelConfig& model) {
      return read_peft_adapter(path("adapter"), model);
    };
    const ModelConfig model = weights_of(1).spec().model;
    ModelConfig other = model;
    other.width = 96;
    other.head_size = model.head_dim();
    ATHANOR_EXPECT_ERROR(
        read(other), ErrorKind::damaged,
        "the tensor base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight "
        "is [4, 64], but beside this model it must be [4, 96]");
    other = model;
    ++other.layers;
    ATHANOR_EXPECT_ERROR(read(other), ErrorKind::damaged, "is missing: the adapter is for another");
    other.layers = model.layers - 1;
    ATHANOR_EXPECT_ERROR(read(other), ErrorKind::damaged, "has no place beside this model");
    change_config(path("adapter"), "use_dora", true);
    ATHANOR_EXPECT_ERROR(read(model), ErrorKind::unsupported,
                         "use_dora is true, which is not computed here");
    change_config(path("adapter"), "use_dora", false);
    change_config(path("adapter"), "target_modules", {"q_proj", "lm_head"});
    ATHANOR_EXPECT_ERROR(read(model), ErrorKind::unsupported, "target_modules has lm_head");
    change_config(path("adapter"), "target_modules", {"q_proj"});
    change_config(path("adapter"), "r", -3);
    ATHANOR_EXPECT_ERROR(read(model), ErrorKind::damaged, "lora_rank must be between 0 and 1024");
    change_config(path("adapter"), "peft_type", "IA3");
    ATHANOR_EXPECT_ERROR(read(model), ErrorKind::unsupported, "peft_type is not LORA");
    ATHANOR_EXPECT_ERROR(read_peft_adapter(path("nowhere"), model), ErrorKind::not_found,
                         "adapter_config.json");
  }

  void the_base_must_be_there_and_the_same() {
    RunSpec spec = lora_spec();
    spec.start = {};
    TrainControl control;
    Listener listener;
    ATHANOR_EXPECT_ERROR(TrainingSession(home()).start(spec, control, listener),
                         ErrorKind::invalid_argument, "Choose the run to start from");
    spec = read_run_spec(run_folder(2));
    spec.base.fingerprint = "0000000000000000";
    ATHANOR_EXPECT_ERROR(RunWeights::open_base(spec), ErrorKind::damaged,
                         "is not the one that the adapters were");
    RunSpec changed = read_run_spec(run_folder(2));
    changed.model.ffn *= 2;
    write_file_atomically(run_folder(2) / "spec.json", run_spec_to_json(changed).dump());
    ATHANOR_EXPECT_ERROR(weights_of(2), ErrorKind::damaged, "weights.safetensors");
    fs::rename(run_folder(1), path("away"));
    write_file_atomically(run_folder(2) / "spec.json", run_spec_to_json(spec).dump());
    ATHANOR_EXPECT_ERROR(weights_of(2), ErrorKind::not_found, "which is not there any more");
    fs::rename(path("away"), run_folder(1));
  }
};

QTEST_GUILESS_MAIN(TestLoraSession)
#include "test_lora_session.moc"
