// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {

#define VERIFY_CODE(answer, expected) \
  QVERIFY2((answer).code == (expected), ((answer).output + (answer).errors).c_str())

/// From a pretrained run to one that answers, and what is measured of it.
class TestCliSft : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void a_run_is_tuned_talked_to_and_measured();
  void problems_are_told_data();
  void problems_are_told();

 private:
  QString file(const std::string& name, const std::string& text) const {
    return QString::fromStdString(line_.write(name, text).string());
  }

  CommandLine line_;
};

void TestCliSft::initTestCase() {
  const Answer trained = line_.train();
  VERIFY_CODE(trained, 0);
}

void TestCliSft::a_run_is_tuned_talked_to_and_measured() {
  std::string records;
  for (int i = 0; i < 12; ++i)
    records +=
        fmt::format("{{\"instruction\":\"say {}\",\"input\":\"\",\"output\":\"{}\"}}\n", i, i % 3);
  const QString data = file("records.jsonl", records);
  const Answer made = line_.run({"--json", "sft", "--base", "1", "--data", data, "--held-out",
                                 "0.2", "--epochs", "2", "--name", "Says numbers"});
  VERIFY_CODE(made, 0);
  const Json run = line_.run({"--json", "runs"}).events().front();
  QVERIFY2(run.dump().find("Says numbers") != std::string::npos, run.dump().c_str());

  const Answer chat =
      line_.run({"--json", "chat", "2", "--length", "4"}, "say 1\nsay 2\n/new\nsay 3\n");
  VERIFY_CODE(chat, 0);
  const std::vector<Json> answers = chat.events();
  QVERIFY2(answers.size() == 3, chat.output.c_str());
  QCOMPARE(answers[0]["template"].get<std::string>(), std::string("plain"));
  // The second message is read with what was said before, the third is not.
  QVERIFY(answers[1]["prompt_tokens"].get<int>() + answers[1]["dropped_prompt_tokens"].get<int>() >
          answers[0]["prompt_tokens"].get<int>());
  QCOMPARE(answers[2]["prompt_tokens"], answers[0]["prompt_tokens"]);
  const Answer raw =
      line_.run({"--json", "chat", "2", "--raw", "--length", "4", "--prompt", "say 1"});
  VERIFY_CODE(raw, 0);
  QCOMPARE(raw.last("answer")["template"].get<std::string>(), std::string("none"));

  const Answer exact = line_.run({"--json", "eval", "answers", "2", "--show", "--length", "8"});
  VERIFY_CODE(exact, 0);
  QCOMPARE(exact.last("measured")["items"].get<int>(), 12);
  QVERIFY(exact.last("question").contains("expected"));
  const Answer held_out =
      line_.run({"--json", "eval", "answers", "2", "--held-out", "--length", "8"});
  VERIFY_CODE(held_out, 0);
  const int held_out_items = held_out.last("measured")["items"].get<int>();
  QVERIFY(held_out_items >= 1 && held_out_items < 12);
  const Answer perplexity = line_.run(
      {"--json", "eval", "perplexity", "1", QString::fromStdString(line_.text().string())});
  VERIFY_CODE(perplexity, 0);
  const double value = perplexity.last("measured")["value"].get<double>();
  QVERIFY(value > 1 && value < 1e4);
  const Answer choices = line_.run(
      {"--json", "eval", "choices", "2",
       file("choices.jsonl", R"({"question":"say","choices":["0","zzz"],"answer":"A"})")});
  VERIFY_CODE(choices, 0);
  const Json listed = line_.run({"--json", "eval", "list", "2"}).events().front();
  QCOMPARE(listed["measurements"].size(), std::size_t{3});
  QCOMPARE(listed["measurements"][0]["kind"].get<std::string>(), std::string("answers"));
}

void TestCliSft::problems_are_told_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("part");
  const QString good =
      file("good.jsonl",
           "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":\"c\",\"completion\":\"d\"}\n");
  const QString bad =
      file("bad.jsonl", "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":\"c\"}\n");
  QTest::newRow("no base") << QStringList{"sft", "--data", good} << 2 << "--base";
  QTest::newRow("unknown base") << QStringList{"sft", "--base", "77", "--data", good} << 3
                                << "There is no run 77";
  QTest::newRow("unknown checkpoint")
      << QStringList{"sft", "--base", "1", "--checkpoint", "999", "--data", good} << 3
      << "no checkpoint of step 999";
  QTest::newRow("unknown template")
      << QStringList{"sft", "--base", "1", "--template", "vicuna", "--data", good} << 2
      << "--template must be";
  QTest::newRow("no template") << QStringList{"sft",  "--base", "1", "--template",
                                              "none", "--data", good}
                               << 2 << "Choose plain";
  QTest::newRow("bad record") << QStringList{"sft", "--base", "1", "--data", bad} << 3
                              << "record 2 (line 2)";
  QTest::newRow("no file") << QStringList{"sft", "--base", "1", "--data", "nowhere.jsonl"} << 3
                           << "nowhere.jsonl";
  QTest::newRow("system without template")
      << QStringList{"chat", "1", "--system", "x", "--prompt", "y"} << 2
      << "for models with a chat template";
  QTest::newRow("answers of a base")
      << QStringList{"eval", "answers", "1", good} << 2 << "no chat template";
  QTest::newRow("held out of a base")
      << QStringList{"eval", "answers", "1", good, "--held-out"} << 2 << "--held-out is for runs";
  QTest::newRow("no questions") << QStringList{"eval", "answers", "1"} << 2 << "FILE is missing";
  QTest::newRow("unknown run") << QStringList{"eval", "list", "x"} << 2 << "RUN must be";
}

void TestCliSft::problems_are_told() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QString, part);
  const Answer answer = line_.run(arguments);
  VERIFY_CODE(answer, code);
  QVERIFY2(answer.errors.find(part.toStdString()) != std::string::npos, answer.errors.c_str());
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliSft)
#include "test_cli_sft.moc"
