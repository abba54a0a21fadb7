// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include "engine/exchange/open_tokenizer.h"
#include "engine/session/chat_session.h"
#include "engine/session/model_exchange.h"
#include "engine/session/run_checkpoint.h"
#include "engine/session/training_session.h"
#include "tests/engine/exchange/sample_models.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/file_size_limit.h"

using namespace athanor;

namespace fs = std::filesystem;

/// Other programs' models as runs of this one.
class TestModelExchange : public QObject {
  Q_OBJECT

 private:
  std::unique_ptr<QTemporaryDir> folder_;

  fs::path path(const char* name) const { return folder_->filePath(name).toStdString(); }
  fs::path home() const { return path("home"); }

  ImportedModel import(const std::string& name = {}) const {
    return import_model(home(), path("model"), {.name = name, .model = {}}, CancelToken(), {});
  }

  static std::string said(ChatSession& session) {
    const SamplingOptions options{.temperature = 0, .max_tokens = 8};
    return session.generator().generate("hello", options, CancelToken(), [](auto&) {}).text;
  }

  qsizetype folders_of_runs() const {
    return std::distance(fs::directory_iterator(home() / "runs"), fs::directory_iterator());
  }

 private slots:
  void init() {
    folder_ = std::make_unique<QTemporaryDir>();
    write_sample(path("model"), sample_model("llama").config);
  }

  void an_import_is_a_finished_run() {
    QVERIFY(import().record.id == 1 && import("mine").record.id == 2);
    const RunStore store(home());
    const RunRecord record = *store.run(1);
    QCOMPARE(record.name, std::string("model"));
    QCOMPARE(store.run(2)->name, std::string("mine"));
    QVERIFY(record.status == RunStatus::finished && is_imported(record));
    QCOMPARE(record.steps, 0);
    QCOMPARE(store.checkpoints(1).size(), std::size_t{1});
    QVERIFY(fs::exists(store.checkpoints(1)[0].path));
    QCOMPARE(store.events(1).at(0).kind, std::string("imported"));
    QCOMPARE(read_run_spec(store.run_folder(1)).imported_from, path("model").string());
    QCOMPARE(folders_of_runs(), 2);

    ChatSession imported(store.run_folder(1), {});
    ChatSession file(open_foreign_model(path("model"), {}));
    QCOMPARE(said(imported), said(file));
    QVERIFY(imported.notice().empty() && file.notice().empty());
  }

  void weights_are_kept_as_they_are() {
    const SampleModel sample = sample_model("llama");
    QVERIFY(import().weights == DType::f32);
    write_sample(path("model"), sample.config, sample_tensors(sample.config), DType::bf16);
    QVERIFY(import().weights == DType::bf16);
    std::string notice;
    const RunStore store(home());
    const auto loaded = load_run_checkpoint(store.run_folder(2), {}, notice);
    const Tensor embedding = loaded.weights.find("embedding", DType::bf16, {320, 64});
    const ForeignModel foreign = open_foreign_model(path("model"), {});
    std::vector<float> expected = numbers_of(foreign.weights, 0);
    std::vector<float> found(expected.size());
    CheckpointWeights(loaded.weights, foreign.weights.parameters().all()).read(0, 0, found);
    QVERIFY(found == expected && embedding.present());
  }

  void what_ends_early_leaves_nothing() {
    import();
    CancelToken cancel;
    const auto stop = [&](const std::string&, std::int64_t, std::int64_t) { cancel.request(); };
    QVERIFY_THROWS_EXCEPTION(Cancelled, import_model(home(), path("model"), {}, cancel, stop));
    {
      const FileSizeLimit limit(16 << 10);
      ATHANOR_EXPECT_ERROR(import(), ErrorKind::io, "weights.safetensors");
    }
    QCOMPARE(folders_of_runs(), 1);
    QCOMPARE(RunStore(home()).runs().size(), std::size_t{1});
    // What a crash left is removed by the next import.
    create_folders(home() / "runs" / "import.partial-1" / "checkpoints");
    import();
    QCOMPARE(folders_of_runs(), 2);
  }

  void a_lost_run_list_finds_it_again() {
    import("mine");
    fs::remove(home() / "athanor.db");
    const RunStore store(home());
    const RunRecord record = *store.run(1);
    QVERIFY(record.status == RunStatus::finished && is_imported(record));
    QCOMPARE(record.name, std::string("mine"));
    QCOMPARE(store.checkpoints(1).size(), std::size_t{1});
  }

  void it_cannot_be_resumed() {
    import();
    TrainControl control;
    Listener listener;
    ATHANOR_EXPECT_ERROR(TrainingSession(home()).resume(1, {}, control, listener),
                         ErrorKind::invalid_argument, "Run 1 was imported");
  }

  void a_damaged_origin_is_told() {
    import();
    const RunStore store(home());
    const fs::path origin = store.run_folder(1) / "origin.json";
    const Tokenizer tokenizer = Tokenizer::load(store.run_folder(1) / "tokenizer.json");
    QCOMPARE(model_card_of(store.run_folder(1), tokenizer).name, std::string("model"));
    for (const char* const text : {"{}", "[]",
                                   R"({"format":1,"name":"a","chat_template":"",)"
                                   R"("begin_of_text":100000})"}) {
      write_file_atomically(origin, text);
      ATHANOR_EXPECT_ERROR(model_card_of(store.run_folder(1), tokenizer), ErrorKind::damaged,
                           "origin.json was changed");
    }
  }

  void exports_the_checkpoint_that_is_asked_for() {
    import();
    const fs::path run = RunStore(home()).run_folder(1);
    const ExportedModel made =
        export_run(run, {.step = 0, .kind = FileKind::gguf, .type = {}, .folder = path("out")},
                   CancelToken(), {});
    QVERIFY(made.step == 0 && made.type == NumberFormat::f32 && made.notice.empty());
    QVERIFY(fs::exists(path("out") / "model-f32.gguf"));
    const Tokenizer own = Tokenizer::load(run / "tokenizer.json");
    const Tokenizer written = open_tokenizer(path("out") / "model-f32.gguf");
    QCOMPARE(written.encode("Once upon a time, 1234!"), own.encode("Once upon a time, 1234!"));
    QCOMPARE(open_tokenizer(run / "tokenizer.json").fingerprint(), own.fingerprint());
    ATHANOR_EXPECT_ERROR(
        export_run(run, {.step = 3, .kind = FileKind::gguf, .type = {}, .folder = path("more")},
                   CancelToken(), {}),
        ErrorKind::not_found, "no checkpoint of step 3");
    QVERIFY(!fs::exists(path("more")));
  }
};

QTEST_GUILESS_MAIN(TestModelExchange)
#include "test_model_exchange.moc"
