// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "engine/session/base_model.h"
#include "engine/session/model_evaluation.h"
#include "tests/engine/session/listener.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_run.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {
/// One document.
std::string one_text(std::int64_t bytes) {
  QString text = QString::fromStdString(tiny_text(bytes));
  return text.replace("\n<|endoftext|>\n", " ").trimmed().toStdString();
}
}  // namespace

class TestModelEvaluation : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void perplexity_is_that_of_the_validation();
  void choices_are_made_by_likelihood();
  void bad_choices_are_named_data();
  void bad_choices_are_named();

 private:
  fs::path write(const std::string& name, const std::string& text) const {
    const fs::path path = fs::path(folder_.path().toStdString()) / name;
    write_file_atomically(path, text);
    return path;
  }
  ModelMeasurement choices(const std::string& records) const;

  QTemporaryDir folder_;
  fs::path home_;
  std::int64_t base_ = 0;
};

void TestModelEvaluation::initTestCase() {
  home_ = folder_.filePath("home").toStdString();
  TrainControl control;
  Listener listener;
  const SessionEnd end = TrainingSession(home_).start(
      {.name = "Base",
       .sources = {{.path = write("text.txt", tiny_text(40'000)).string()}},
       .model = tiny_model(),
       .train = tiny_train(20)},
      control, listener);
  QVERIFY(end.record.status == RunStatus::finished);
  base_ = end.record.id;
}

void TestModelEvaluation::perplexity_is_that_of_the_validation() {
  const BaseModel base = open_base_model(home_, base_, {});
  const auto backend = make_backend({});
  const ParameterTable table(base.spec.model);
  Scorer scorer(base.spec.model, CheckpointWeights(base.checkpoint.weights, table.all()), *backend);
  const auto measured = [&](const std::string& text) {
    return measure_perplexity(scorer, base.tokenizer, base.card.begin_of_text,
                              write("measured.txt", text), CancelToken(), {});
  };
  // One document in windows, as the evaluation of its training does it.
  const std::string text = one_text(3000);
  const ModelMeasurement whole = measured(text);
  TokenShardWriter writer(home_ / "one.tokens", base.tokenizer.vocabulary_size(), 0);
  std::vector<std::int32_t> ids{base.tokenizer.end_of_text()};
  base.tokenizer.encode(text, ids);
  ids.push_back(base.tokenizer.end_of_text());
  writer.add_document(ids);
  writer.finish();
  const TokenShard shard = TokenShard::open(home_ / "one.tokens");
  TrainConfig train = base.spec.train;
  train.evaluation_tokens = 0;
  const CheckpointFolder::Loaded loaded = CheckpointFolder::load(base.checkpoint.path, true);
  Trainer trainer({.model = base.spec.model,
                   .train = train,
                   .train_tokens = shard,
                   .validation_tokens = shard,
                   .end_of_text = base.tokenizer.end_of_text(),
                   .validation_bytes = 1,
                   .checkpoints = home_ / "unused"},
                  *backend, &loaded);
  const Evaluation evaluation = trainer.evaluate();
  QCOMPARE(whole.items, evaluation.tokens);
  // Sums of thousands of single losses in FP32, of which each is the same.
  QVERIFY2(std::abs(std::log(whole.value) - evaluation.loss) < 1e-5,
           std::to_string(whole.value).c_str());
  // Two documents cost what they cost alone.
  const ModelMeasurement one = measured("once upon a time");
  const ModelMeasurement two = measured("once upon a time\n<|endoftext|>\nonce upon a time");
  QCOMPARE(two.items, 2 * one.items);
  QVERIFY(std::abs(std::log(two.value) - std::log(one.value)) < 1e-5);
  ATHANOR_EXPECT_ERROR(measured(""), ErrorKind::invalid_argument, "measured.txt");
}

ModelMeasurement TestModelEvaluation::choices(const std::string& text) const {
  const BaseModel base = open_base_model(home_, base_, {});
  const auto backend = make_backend({});
  const ParameterTable table(base.spec.model);
  Scorer scorer(base.spec.model, CheckpointWeights(base.checkpoint.weights, table.all()), *backend);
  return measure_choices(scorer, base.tokenizer, base.card.begin_of_text, nullptr,
                         write("choices.jsonl", text), CancelToken(), {}, [](const JudgedItem&) {});
}

void TestModelEvaluation::choices_are_made_by_likelihood() {
  // What the model was trained on beside what it never saw.
  const std::string text = one_text(2000);
  std::string records;
  std::size_t at = 0;
  std::int64_t count = 0;
  while (count < 8) {
    const std::size_t end = text.find(' ', at + 12);
    const std::size_t stop = text.find(' ', end + 6);
    const Json record{{"question", text.substr(at, end - at)},
                      {"choices", {"zq xv kj", text.substr(end + 1, stop - end - 1), "7 % 3 #"}},
                      {"answer", count % 2 == 0 ? Json(1) : Json("B")}};
    records += record.dump() + "\n";
    at = stop + 1;
    ++count;
  }
  const ModelMeasurement made = choices(records);
  QCOMPARE(made.items, 8);
  QVERIFY2(made.value >= 0.75, std::to_string(made.value).c_str());
  QVERIFY2(made.second_value >= 0.75, std::to_string(made.second_value).c_str());
}

void TestModelEvaluation::bad_choices_are_named_data() {
  QTest::addColumn<QString>("record");
  QTest::addColumn<QString>("problem");
  QTest::newRow("no question") << R"({"choices":["a","b"],"answer":0})"
                               << "\"question\" is not a text";
  QTest::newRow("one choice") << R"({"question":"q","choices":["a"],"answer":0})"
                              << "at least two texts";
  QTest::newRow("empty choice") << R"({"question":"q","choices":["a",""],"answer":0})"
                                << "an empty one";
  QTest::newRow("no answer") << R"({"question":"q","choices":["a","b"]})"
                             << "\"answer\" is not the number";
  QTest::newRow("beyond") << R"({"question":"q","choices":["a","b"],"answer":2})"
                          << "\"answer\" is not the number";
  QTest::newRow("other letter") << R"({"question":"q","choices":["a","b"],"answer":"C"})"
                                << "\"answer\" is not the number";
  QTest::newRow("too long")
      << QString(R"({"question":"%1","choices":["a","b"],"answer":0})").arg(QString(200, '#'))
      << "the model sees 32 at once";
}

void TestModelEvaluation::bad_choices_are_named() {
  QFETCH(QString, record);
  QFETCH(QString, problem);
  const std::string good = R"({"question":"q","choices":["a","b"],"answer":0})"
                           "\n";
  ATHANOR_EXPECT_ERROR(choices(good + record.toStdString() + "\n"), ErrorKind::damaged,
                       problem.toStdString());
  ATHANOR_EXPECT_ERROR(choices(good + record.toStdString() + "\n"), ErrorKind::damaged,
                       "record 2 (line 2)");
  ATHANOR_EXPECT_ERROR(choices(""), ErrorKind::invalid_argument, "no question to ask");
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestModelEvaluation)
#include "test_model_evaluation.moc"
