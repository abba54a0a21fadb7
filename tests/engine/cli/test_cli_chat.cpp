// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/json.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {

#define VERIFY_CODE(answer, expected) \
  QVERIFY2((answer).code == (expected), ((answer).output + (answer).errors).c_str())

/// How athanorctl loads the model that writes.
class TestCliChat : public QObject {
  Q_OBJECT

 private slots:
  void fewer_bits_take_less_memory();
  void another_format_is_refused();
};

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

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliChat)
#include "test_cli_chat.moc"
