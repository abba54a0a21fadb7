// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>

#include "engine/chat/conversation_file.h"
#include "tests/support/expect_error.h"

using namespace athanor;
namespace fs = std::filesystem;

class TestConversationFile : public QObject {
  Q_OBJECT

 private:
  QTemporaryDir folder_;

  fs::path file_with(const std::string& text) {
    const fs::path path = folder_.filePath("records.json").toStdString();
    write_file_atomically(path, text);
    return path;
  }

  std::vector<Dialogue> read(const std::string& text) {
    RecordFile file(file_with(text));
    std::vector<Dialogue> all;
    while (const auto record = file.next())
      all.push_back(read_conversation(*record, file.place(*record)));
    return all;
  }

  /// "s:…|u:…|a:…", an input after "+", "-" before what has no weight.
  static std::string shown(const Dialogue& conversation) {
    std::string text;
    for (const Message& message : conversation.messages) {
      text += text.empty() ? "" : "|";
      text += message.trained ? "" : "-";
      text += names_of(message.role)[static_cast<std::size_t>(message.role)].substr(0, 1);
      text += ":" + message.text + (message.input.empty() ? "" : "+" + message.input);
    }
    return text;
  }

 private slots:
  void forms_are_read_data() {
    QTest::addColumn<QString>("record");
    QTest::addColumn<QString>("expected");
    QTest::newRow("alpaca") << R"({"instruction":"i","input":"","output":"o"})"
                            << "u:i|a:o";
    QTest::newRow("alpaca, all fields")
        << R"({"instruction":"i","input":"n","output":"o","system":"s","history":[["q","w"]]})"
        << "s:s|u:q|a:w|u:i+n|a:o";
    QTest::newRow("messages")
        << R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},)"
           R"({"role":"assistant","content":"a"}]})"
        << "s:s|u:u|a:a";
    QTest::newRow("typed parts and weights")
        << R"({"messages":[{"role":"user","content":[{"type":"text","value":"u"}],"loss_weight":0.0},)"
           R"({"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],)"
           R"("loss_weight":1.0}]})"
        << "-u:u|a:ab";
    QTest::newRow("weight of OpenAI")
        << R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a","weight":0},)"
           R"({"role":"user","content":"v"},{"role":"assistant","content":"b","weight":1}]})"
        << "u:u|-a:a|u:v|a:b";
    QTest::newRow("sharegpt")
        << R"({"system":"s","conversations":[{"from":"human","value":"u"},{"from":"gpt","value":"a"}]})"
        << "s:s|u:u|a:a";
    QTest::newRow("prompt and completion") << R"({"prompt":"p","completion":" c"})"
                                           << "u:p|a: c";
    QTest::newRow("prompt and response") << R"({"prompt":"p","response":"c"})"
                                         << "u:p|a:c";
    QTest::newRow("messages as prompt and completion")
        << R"({"prompt":[{"role":"user","content":"p"}],"completion":[{"role":"assistant","content":"c"}]})"
        << "u:p|a:c";
  }
  void forms_are_read() {
    QFETCH(QString, record);
    QFETCH(QString, expected);
    for (const std::string& text : {record.toStdString(), "[" + record.toStdString() + "]",
                                    "\xEF\xBB\xBF\n [\n" + record.toStdString() + " ]"}) {
      const std::vector<Dialogue> all = read(text);
      QCOMPARE(all.size(), std::size_t{1});
      QCOMPARE(QString::fromStdString(shown(all.front())), expected);
    }
  }

  void records_know_their_lines() {
    const std::string one = "{\"prompt\":\"a ] } \\\" \\\\\",\"completion\":\"b\"}";
    RecordFile lines(file_with(one + "\n\n" + one + "\r\n"));
    QCOMPARE(lines.next()->line, 1);
    const auto second = lines.next();
    QCOMPARE(second->line, 3);
    QVERIFY(
        QString::fromStdString(lines.place(*second)).endsWith("records.json, record 2 (line 3)"));
    QVERIFY(!lines.next());
    lines.restart();
    QCOMPARE(lines.next()->number, 1);
    RecordFile array(file_with("[\n" + one + ",\n{\n\"prompt\":\"x\",\n\"completion\":\"y\"},\n" +
                               one + "\n]\n"));
    QCOMPARE(array.next()->line, 2);
    QCOMPARE(array.next()->line, 3);
    QCOMPARE(array.next()->line, 6);
    QVERIFY(!array.next());
    QVERIFY(!RecordFile(file_with("")).next());
    QVERIFY(!RecordFile(file_with("[]")).next());
  }

  void bad_records_are_named_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("problem");
    const QString good = R"({"prompt":"p","completion":"c"})";
    const auto row = [&](const char* name, const QString& record, const char* problem) {
      QTest::newRow(name) << good + "\n" + record << QString("record 2 (line 2)") + problem;
    };
    row("not JSON", R"({"prompt":)", "");
    row("not an object", "17", ": the record is not an object");
    row("no known form", R"({"text":"x"})", ": it is of no known form");
    row("no output", R"({"instruction":"x"})", ": \"output\" is missing");
    row("number as output", R"({"instruction":"x","output":5})", ": \"output\" is not a text");
    row("empty output", R"({"instruction":"x","output":""})",
        ": message 2, the assistant's, is empty");
    row("no messages", R"({"messages":[]})", ": there is no message of a user in it");
    row("messages of another kind", R"({"messages":{}})",
        ": \"messages\" is not a list of messages");
    row("no role", R"({"messages":[{"content":"x"}]})",
        ": message 1 of \"messages\": \"role\" is missing");
    row("strange role", R"({"messages":[{"role":"tool","content":"x"}]})",
        ": message 1 of \"messages\": role is \"tool\"");
    row("no content", R"({"messages":[{"role":"user"}]})",
        ": message 1 of \"messages\": \"content\" is missing");
    row("null content", R"({"messages":[{"role":"user","content":null}]})",
        ": message 1 of \"messages\": \"content\" is neither");
    row("a picture", R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})",
        ": message 1 of \"messages\": has a part of the type \"image_url\"");
    row("half a weight", R"({"messages":[{"role":"user","content":"x","loss_weight":0.5}]})",
        ": message 1 of \"messages\": \"loss_weight\" is 0.5; only 0 and 1");
    row("calls of tools", R"({"messages":[{"role":"assistant","content":"","tool_calls":[]}]})",
        ": message 1 of \"messages\": calls of tools");
    row("two questions",
        R"({"conversations":[{"from":"human","value":"x"},{"from":"human","value":"y"}]})",
        ": message 2 is of the user, where the assistant's turn is");
    row("unanswered", R"({"conversations":[{"from":"human","value":"x"}]})",
        ": it ends with a user's message");
    row("history of other things", R"({"instruction":"x","output":"y","history":[["q"]]})",
        ": \"history\" must hold pairs");
  }
  void bad_records_are_named() {
    QFETCH(QString, text);
    QFETCH(QString, problem);
    ATHANOR_EXPECT_ERROR(read(text.toStdString()), ErrorKind::damaged, problem.toStdString());
  }

  void arrays_that_do_not_go_on_are_named() {
    const std::string one = R"({"prompt":"p","completion":"c"})";
    ATHANOR_EXPECT_ERROR(read("[" + one), ErrorKind::damaged,
                         "line 1: the list of records has no end");
    ATHANOR_EXPECT_ERROR(read("[\n" + one + "\n" + one + "]"), ErrorKind::damaged,
                         "line 3: a comma is missing");
    ATHANOR_EXPECT_ERROR(read("[\n" + one + ",\n{\"prompt\":\""), ErrorKind::damaged,
                         "line 3: record 2 has no end");
    ATHANOR_EXPECT_ERROR(read("[" + std::string(100000, '[')), ErrorKind::damaged,
                         "record 1 has no end");
    ATHANOR_EXPECT_ERROR(read("[,]"), ErrorKind::damaged, "record 1");
  }

  void files_of_other_programs_are_read() {
    const fs::path data = qEnvironmentVariable("ATHANOR_SAMPLE_DATA").toStdString();
    if (data.empty()) QSKIP("ATHANOR_SAMPLE_DATA names no folder of published examples");
    const std::pair<const char*, int> files[] = {
        {"alpaca_en_demo.json", 999}, {"identity.json", 91}, {"v1_sft_demo.jsonl", 91}};
    for (const auto& [name, least] : files) {
      RecordFile file(data / name);
      int count = 0;
      while (const auto record = file.next()) {
        read_conversation(*record, file.place(*record));
        ++count;
      }
      QVERIFY2(count >= least, name);
    }
  }
};

QTEST_APPLESS_MAIN(TestConversationFile)
#include "test_conversation_file.moc"
