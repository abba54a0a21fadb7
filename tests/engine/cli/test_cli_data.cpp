// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {

/// "athanorctl data …" and training on sources of one's own.
class TestCliData : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void records_are_inspected();
  void problems_are_told_data();
  void problems_are_told();
  void a_run_takes_several();

 private:
  QString records() const { return QString::fromStdString(records_.string()); }

  const CommandLine line_;
  std::filesystem::path records_;
};

void TestCliData::initTestCase() {
  const std::string story = read_small_file(line_.text());
  std::string lines;
  for (std::size_t at = 0; at + 400 <= story.size() && at < 40'000; at += 400)
    lines += Json{{"title", "T"}, {"body", story.substr(at, 400)}}.dump() + "\n";
  records_ = line_.write("records.jsonl", lines + "{bad\n");
}

void TestCliData::records_are_inspected() {
  const Answer plain =
      line_.run({"data", "inspect", records(), "--text-field", "{title}\\n{body}"});
  QVERIFY2(plain.code == 0, plain.errors.c_str());
  QVERIFY2(plain.output.find("1 bad records") != std::string::npos, plain.output.c_str());
  QVERIFY(plain.output.find("it is not valid JSON (column 2)") != std::string::npos);
  const Json told =
      line_.run({"data", "inspect", records(), "--records", "2", "--json"}).events().at(0);
  QCOMPARE(told.at("text_field").get<std::string>(), std::string("body"));
  QCOMPARE(told.at("records").size(), 2U);
  QCOMPARE(told.at("fields").size(), 2U);
  QCOMPARE(told.at("bad").at(0).at("line").get<std::int64_t>(),
           told.at("documents").get<std::int64_t>() + 1);
  QVERIFY(told.at("complete").get<bool>());
}

void TestCliData::problems_are_told_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("sentence");
  const QString missing = "/none.jsonl";
  QTest::newRow("missing") << QStringList{"data", "inspect", missing} << 3 << "/none.jsonl";
  QTest::newRow("field") << QStringList{"data", "inspect", records(), "--text-field", "txt"} << 3
                         << "title (string), body (string)";
  QTest::newRow("fatal") << QStringList{"data", "inspect", records(), "--bad-records", "fail"} << 3
                         << "it is not valid JSON";
  QTest::newRow("boundary") << QStringList{"data", "inspect", records(), "--boundary", "line"} << 2
                            << "--boundary must be mark, file, blank_line or separator";
  QTest::newRow("weights") << QStringList{"data", "inspect", records(), "--data-weight", "1", "2"}
                           << 2 << "--data-weight needs one number for each of the 1 paths";
  QTest::newRow("weight") << QStringList{"data", "inspect", records(), "--data-weight", "0"} << 2
                          << "--data-weight must be between";
  const QString latin = QString::fromStdString(
      line_.write("latin.txt", "Un caf\xe9 noir, s'il vous pla\xeet.\n").string());
  QTest::newRow("Latin-1") << QStringList{"data", "inspect", latin, "--invalid-utf8", "fail"} << 3
                           << "latin.txt, line 1 is not UTF-8";
  QTest::newRow("nothing") << QStringList{"data", "inspect"} << 2 << "PATH";
  QTest::newRow("training")
      << QStringList{"train",  "--spec",  QString::fromStdString(line_.spec().string()),
                     "--data", records(), "--text-field",
                     "txt"}
      << 3 << "title (string), body (string)";
}

void TestCliData::problems_are_told() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QString, sentence);
  const Answer answer = line_.run(arguments);
  QVERIFY2(answer.code == code, answer.errors.c_str());
  QVERIFY2(QString::fromStdString(answer.errors).contains(sentence), answer.errors.c_str());
  QCOMPARE(std::ranges::count(answer.errors, '\n'), 1);
}

void TestCliData::a_run_takes_several() {
  const Answer answer =
      line_.run({"train", "--spec", QString::fromStdString(line_.spec().string()), "--data",
                 QString::fromStdString(line_.text().string()), records(), "--data-weight", "1",
                 "2", "--duplicates", "remove_exact", "--steps", "2", "--json"});
  QVERIFY2(answer.code == 0, answer.errors.c_str());
  const Json counted = answer.last("corpus");
  QCOMPARE(counted.at("bad_records").get<int>(), 1);
  QVERIFY(counted.at("documents").get<int>() > 50);
  QVERIFY(answer.last("notice").dump().find("One record was not valid") != std::string::npos);
}

}  // namespace athanor

QTEST_APPLESS_MAIN(athanor::TestCliData)
#include "test_cli_data.moc"
