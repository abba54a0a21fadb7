// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <filesystem>

#include "engine/base/json.h"
#include "engine/session/training_session.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {

namespace fs = std::filesystem;

/// Runs on other sources than one text.
class TestSessionCorpus : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void sources_round_trip();
  void older_specs_name_one_text();
  void bad_sources_are_named_data();
  void bad_sources_are_named();
  void a_run_on_several_sources();
  void stopping_leaves_nothing_data();
  void stopping_leaves_nothing();
  void the_fingerprint_is_the_key();

 private:
  fs::path write(const char* name, const std::string& content) const {
    const fs::path path = folder_->filePath(name).toStdString();
    write_file_atomically(path, content);
    return path;
  }
  RunSpec spec_of(std::vector<CorpusSource> sources) const {
    return {.name = "Corpus",
            .sources = std::move(sources),
            .model = tiny_model(),
            .train = tiny_train(5)};
  }
  std::vector<std::string> prepared() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(home_ / "data", error))
      names.push_back(entry.path().filename().string());
    return names;
  }

  std::unique_ptr<QTemporaryDir> folder_;
  fs::path home_;
};

void TestSessionCorpus::init() {
  folder_ = std::make_unique<QTemporaryDir>();
  home_ = folder_->filePath("home").toStdString();
}

void TestSessionCorpus::sources_round_trip() {
  RunSpec spec = spec_of({{.path = "a/*.jsonl", .weight = 2.5, .text = "{title}\n\n{text}"},
                          {.path = "b", .boundary = Boundary::separator, .separator = "\n--\n"}});
  spec.data.corpus.duplicates = Duplicates::remove_near;
  const Json json = run_spec_to_json(spec);
  const RunSpec read = run_spec_from_json(json, "spec");
  QVERIFY(read.sources == spec.sources);
  QVERIFY(read.data.corpus.duplicates == Duplicates::remove_near);
  QCOMPARE(run_spec_to_json(read).dump(), json.dump());
}

void TestSessionCorpus::older_specs_name_one_text() {
  const auto read = [](const char* json) {
    return run_spec_from_json(parse_json(json, "old"), "old").sources;
  };
  QVERIFY(read("{\"format\": 1, \"data\": {\"file\": \"a.txt\"}}") ==
          (std::vector<CorpusSource>{{.path = "a.txt"}}));
  QVERIFY(read("{\"format\": 1, \"data\": {\"file\": \"\"}}").empty());
}

void TestSessionCorpus::bad_sources_are_named_data() {
  QTest::addColumn<QString>("json");
  QTest::addColumn<QString>("sentence");
  const auto row = [](const char* json, const char* sentence) {
    QTest::newRow(sentence) << json << sentence;
  };
  row("{}", "sources must be a list");
  row("[{\"path\": \"\"}]", "sources 1.path must name");
  row("[{\"path\": \"a\", \"weight\": 0}]", "sources 1.weight must be between");
  row("[{\"path\": \"a\"}, {\"path\": \"b\", \"boundary\": \"line\"}]",
      "sources 2.boundary must be mark, file");
  row("[{\"path\": \"a\", \"boundary\": \"separator\"}]", "sources 1.separator must say");
  row("[{\"path\": \"a\", \"text\": \"{a\"}]", "opens a brace");
  row("[{\"path\": \"a\", \"colour\": 1}]", "no setting sources 1.colour");
}

void TestSessionCorpus::bad_sources_are_named() {
  QFETCH(QString, json);
  QFETCH(QString, sentence);
  const std::string spec = "{\"format\": 1, \"sources\": " + json.toStdString() + "}";
  ATHANOR_EXPECT_ERROR(check_run_spec(run_spec_from_json(parse_json(spec, "s"), "s")),
                       ErrorKind::invalid_argument, sentence.toStdString());
}

void TestSessionCorpus::a_run_on_several_sources() {
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += Json{{"id", i}, {"text", tiny_text(150) + std::to_string(i)}}.dump() + "\n";
  const fs::path records = write("a.jsonl", lines + "{bad\n" + lines);
  const fs::path text = write("b.txt", tiny_text(20'000));
  RunSpec spec = spec_of({{.path = records, .weight = 2}, {.path = text}});
  spec.data.corpus.duplicates = Duplicates::remove_exact;
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(spec, control, listener);
  QVERIFY2(end.record.status == RunStatus::finished, end.record.problem.c_str());
  QCOMPARE(listener.notices.size(), 1U);
  QVERIFY(QString::fromStdString(listener.notices[0].text).startsWith("One record was not valid"));
  const PreparedData data = prepare_data(home_, spec, CancelToken(), {});
  QCOMPARE(data.counts.duplicates, 200);
  QCOMPARE(data.counts.bad_records, 1);
  QVERIFY(fs::exists(data.folder / "bad-records.txt"));
  QVERIFY(fs::exists(RunStore(home_).run_folder(end.record.id) / "data/train.tokens"));

  spec.data.corpus.read.bad_records = BadRecords::fail;
  spec.data.corpus.duplicates = Duplicates::keep;
  ATHANOR_EXPECT_ERROR(prepare_data(home_, spec, CancelToken(), {}), ErrorKind::damaged,
                       "a.jsonl, line 201: it is not valid JSON");
}

void TestSessionCorpus::stopping_leaves_nothing_data() {
  QTest::addColumn<QString>("stage");
  for (const char* const stage : {"Looking at the files", "Reading the text", "Counting words",
                                  "Learning tokens", "Tokenizing the text"})
    QTest::newRow(stage) << stage;
}

void TestSessionCorpus::stopping_leaves_nothing() {
  QFETCH(QString, stage);
  const RunSpec spec = spec_of({{.path = write("a.txt", tiny_text(40'000))}});
  CancelToken cancel;
  QVERIFY_EXCEPTION_THROWN(prepare_data(home_, spec, cancel,
                                        [&](const std::string& now, std::int64_t, std::int64_t) {
                                          if (now == stage.toStdString()) cancel.request();
                                        }),
                           Cancelled);
  QVERIFY(prepared().empty());
  QVERIFY(prepare_data(home_, spec, CancelToken(), {}).train.tokens() > 0);
  QCOMPARE(prepared().size(), 1U);
}

void TestSessionCorpus::the_fingerprint_is_the_key() {
  const fs::path file = write("a.txt", tiny_text(40'000));
  const PreparedData first = prepare_data(home_, spec_of({{.path = file}}), CancelToken(), {});
  QCOMPARE(first.fingerprint.size(), 16U);
  // The same content elsewhere is the same data.
  const fs::path moved = write("b.txt", tiny_text(40'000));
  const PreparedData again = prepare_data(home_, spec_of({{.path = moved}}), CancelToken(), {});
  QCOMPARE(again.folder, first.folder);
  QCOMPARE(again.fingerprint, first.fingerprint);
  write("a.txt", tiny_text(50'000));
  const PreparedData other = prepare_data(home_, spec_of({{.path = file}}), CancelToken(), {});
  QVERIFY(other.fingerprint != first.fingerprint);
  QVERIFY(other.folder != first.folder);
}

}  // namespace athanor

QTEST_APPLESS_MAIN(athanor::TestSessionCorpus)
#include "test_session_corpus.moc"
