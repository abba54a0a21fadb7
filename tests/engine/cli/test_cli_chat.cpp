// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {

#define VERIFY_CODE(answer, expected) \
  QVERIFY2((answer).code == (expected), ((answer).output + (answer).errors).c_str())

/// How athanorctl loads the model that writes, and how it draws.
class TestCliChat : public QObject {
  Q_OBJECT

 private slots:
  void chat_follows_its_options();
  void fewer_bits_take_less_memory();
  void another_format_is_refused();
  void answers_end_and_change_as_asked();
  void bad_biases_data();
  void bad_biases();
  void speed_is_measured();
};

void TestCliChat::chat_follows_its_options() {
  const CommandLine line;
  VERIFY_CODE(line.train(), 0);
  const auto answer = [&](const QStringList& options) {
    const Answer said =
        line.run(QStringList{"--json", "chat", "1", "--prompt", "The cat"} + options);
    return said.code == 0 ? said.last("answer") : Json(said.errors);
  };
  const Json first = answer({"--seed", "5", "--length", "12"});
  QVERIFY2(first.is_object(), first.dump().c_str());
  QVERIFY(first.at("tokens").get<int>() <= 12);
  QCOMPARE(first.at("step").get<int>(), 12);
  QCOMPARE(answer({"--seed", "5", "--length", "12"}).at("text"), first.at("text"));
  QVERIFY(answer({"--seed", "6", "--length", "12"}).at("text") != first.at("text"));
  const QStringList greedy{"--temperature", "0", "--length", "12"};
  QCOMPARE(answer(greedy + QStringList{"--seed", "1"}).at("text"),
           answer(greedy + QStringList{"--seed", "2"}).at("text"));
  QCOMPARE(answer({"--checkpoint", "8"}).at("step").get<int>(), 8);
  const Answer missing = line.run({"chat", "1", "--checkpoint", "5", "--prompt", "a"});
  VERIFY_CODE(missing, 3);
  QVERIFY(missing.errors.find("no checkpoint of step 5") != std::string::npos);
  const Answer lines = line.run({"--json", "chat", "1", "--length", "4"}, "The cat\n\nA bird\n");
  VERIFY_CODE(lines, 0);
  QCOMPARE(lines.events().size(), std::size_t{2});
  QCOMPARE(lines.events()[1].at("prompt").get<std::string>(), std::string("A bird"));
}

void TestCliChat::fewer_bits_take_less_memory() {
  const CommandLine line;
  VERIFY_CODE(line.train(), 0);
  const auto answer = [&](const QStringList& options) {
    const Answer given = line.run(
        QStringList{"--json", "chat", "1", "--prompt", "The cat", "--length", "8"} + options);
    return given.code == 0 ? given.last("answer") : Json::object();
  };
  const auto bytes = [&](const char* weights) {
    return answer({"--weights", weights}).at("memory_bytes").get<std::int64_t>();
  };
  QCOMPARE(bytes("as_saved"), answer({}).at("memory_bytes").get<std::int64_t>());
  QVERIFY(bytes("q8_0") < bytes("as_saved"));
  QVERIFY(bytes("q4_0") < bytes("q8_0"));
  QCOMPARE(answer({"--weights", "q4_0"}).at("text"), answer({"--weights", "q4_0"}).at("text"));
}

void TestCliChat::another_format_is_refused() {
  const CommandLine line;
  const Answer refused = line.run({"chat", "1", "--weights", "q5_1", "--prompt", "a"});
  VERIFY_CODE(refused, 2);
  QVERIFY2(refused.errors.find("--weights must be as_saved, q8_0 or q4_0") != std::string::npos,
           refused.errors.c_str());
}

void TestCliChat::answers_end_and_change_as_asked() {
  const CommandLine line;
  VERIFY_CODE(line.train(), 0);
  const auto answer = [&](const QStringList& options) {
    return line
        .run(QStringList{"--json", "chat", "1", "--prompt", "The cat", "--length", "12",
                         "--temperature", "0"} +
             options)
        .last("answer");
  };
  const Json whole = answer({"--alternatives", "3"});
  const Json& first = whole.at("choices").at(0);
  QCOMPARE(first.at("best").size(), std::size_t{3});
  QCOMPARE(first.at("best").at(0).at("id"), first.at("id"));
  QVERIFY(first.at("probability").get<double>() > 0);
  const auto text = whole.at("text").get<std::string>();
  const Json cut =
      answer({"--stop", "never said", "--stop", QString::fromStdString(text.substr(2, 3))});
  QCOMPARE(cut.at("end").get<std::string>(), std::string("stop_text"));
  QCOMPARE(cut.at("text").get<std::string>(), text.substr(0, text.find(text.substr(2, 3))));
  QVERIFY(!cut.contains("choices"));
  const std::string id = first.at("id").dump();
  const Json banned =
      answer({"--alternatives", "1", "--logit-bias", QString::fromStdString(id + "=-1000")});
  for (const Json& choice : banned.at("choices"))
    QVERIFY(choice.at("id") != first.at("id"));
}

void TestCliChat::bad_biases_data() {
  QTest::addColumn<QString>("bias");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("no number") << "5"
                             << "write a token's number, = and a number";
  QTest::newRow("no bias") << "5="
                           << "a number from -1000 to 1000";
  QTest::newRow("too much") << "5=1e9"
                            << "a number from -1000 to 1000";
  QTest::newRow("no token") << "x=1"
                            << "--logit-bias must be a whole number";
  QTest::newRow("negative") << "-1=1"
                            << "--logit-bias must be between 0 and";
}

void TestCliChat::bad_biases() {
  QFETCH(const QString, bias);
  QFETCH(const QString, sentence);
  const CommandLine line;
  const Answer refused = line.run({"chat", "1", "--prompt", "a", "--logit-bias=" + bias});
  VERIFY_CODE(refused, 2);
  QVERIFY2(QString::fromStdString(refused.errors).contains(sentence), refused.errors.c_str());
}

void TestCliChat::speed_is_measured() {
  const CommandLine line;
  VERIFY_CODE(line.train(), 0);
  const Answer measured = line.run({"--json", "chat", "1", "--speed-test", "16", "8"});
  VERIFY_CODE(measured, 0);
  const Json speed = measured.last("speed");
  QCOMPARE(speed.at("prompt_tokens").get<int>(), 16);
  QCOMPARE(speed.at("tokens").get<int>(), 8);
  QVERIFY(speed.at("tokens_per_second").get<double>() > 0);
  VERIFY_CODE(line.run({"chat", "1", "--speed-test", "16", "8"}), 0);
  const Answer refused = line.run({"chat", "1", "--speed-test", "16", "8000"});
  VERIFY_CODE(refused, 2);
  QVERIFY2(refused.errors.find("do not fit this model") != std::string::npos,
           refused.errors.c_str());
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliChat)
#include "test_cli_chat.moc"
