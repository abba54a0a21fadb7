// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {

/// "athanorctl tokenizer …" and training with a tokenizer of one's own.
class TestCliTokenizer : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void it_is_shown();
  void texts_are_encoded();
  void several_are_compared();
  void a_run_takes_it();
  void mistakes_are_told_data();
  void mistakes_are_told();

 private:
  QString path() const { return QString::fromStdString((line_.folder() / "mine").string()); }
  QString text() const { return QString::fromStdString(line_.text().string()); }

  const CommandLine line_;
};

void TestCliTokenizer::initTestCase() {
  const Answer answer = line_.run(
      {"tokenizer", "train", "--data", text(), "--out", path(), "--vocabulary", "300", "--json"});
  QVERIFY2(answer.code == 0, answer.errors.c_str());
  const Json told = answer.events().at(0);
  QVERIFY(told.at("vocabulary").get<int>() <= 300);
  QCOMPARE(told.at("padded_vocabulary").get<int>() % 64, 0);
}

void TestCliTokenizer::it_is_shown() {
  const Answer plain = line_.run({"tokenizer", "show", path()});
  QVERIFY2(plain.code == 0, plain.errors.c_str());
  QVERIFY(plain.output.find("<|endoftext|>") != std::string::npos);
  const Json told = line_.run({"tokenizer", "show", path(), "--json"}).events().at(0);
  QCOMPARE(told.at("end_of_text").at("content").get<std::string>(), std::string("<|endoftext|>"));
  QCOMPARE(told.at("pre_tokenizer").at("type").get<std::string>(), std::string("ByteLevel"));
}

void TestCliTokenizer::texts_are_encoded() {
  const Answer plain = line_.run({"tokenizer", "encode", path(), "--text", "zq\n"});
  QVERIFY2(plain.output.find("\"z\"") != std::string::npos, plain.output.c_str());
  const Json told =
      line_.run({"tokenizer", "encode", path(), "--text", "zq", "--json"}).events().at(0);
  QCOMPARE(told.at("ids").get<std::vector<int>>(), (std::vector<int>{'z', 'q'}));
}

void TestCliTokenizer::several_are_compared() {
  const Answer plain = line_.run({"tokenizer", "compare", path(), path(), "--data", text()});
  QVERIFY2(plain.code == 0, plain.errors.c_str());
  QCOMPARE(QString::fromStdString(plain.output).count('\n'), 3);
  const Json told =
      line_.run({"tokenizer", "compare", path(), "--data", text(), "--json"}).events().at(0);
  QCOMPARE(told.size(), 1U);
  QVERIFY(told.at(0).at("bytes_per_token").get<double>() > 1);
  QVERIFY(told.at(0).at("tokens_per_word").get<double>() > 1);
}

void TestCliTokenizer::a_run_takes_it() {
  const Answer trained = line_.train({"--tokenizer", path(), "--steps", "2"});
  QVERIFY2(trained.code == 0, (trained.output + trained.errors).c_str());
  const Json spec = read_json_file(line_.home() / "runs/000001/spec.json");
  QCOMPARE(spec.at("data").at("tokenizer").get<std::string>(), path().toStdString());
  QCOMPARE(spec.at("model").at("vocabulary").get<int>() % 64, 0);
}

void TestCliTokenizer::mistakes_are_told_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("part");
  QTest::newRow("no word") << QStringList{"tokenizer"} << 2 << "--help";
  QTest::newRow("not there") << QStringList{"tokenizer", "show", "/nowhere"} << 3 << "/nowhere";
  QTest::newRow("nothing to encode") << QStringList{"tokenizer", "encode", path()} << 2 << "--text";
  QTest::newRow("vocabulary") << QStringList{"tokenizer", "train", "--data",       text(),
                                             "--out",     path(),  "--vocabulary", "10"}
                              << 2 << "--vocabulary";
  QTest::newRow("empty") << QStringList{"train", "--preset", "spark", "--tokenizer", ""} << 2
                         << "--tokenizer";
  QTest::newRow("no tokenizer") << QStringList{"tokenizer", "show", text()} << 3 << "line 1";
}

void TestCliTokenizer::mistakes_are_told() {
  QFETCH(QStringList, arguments);
  QFETCH(int, code);
  QFETCH(QString, part);
  const Answer answer = line_.run(arguments);
  QVERIFY2(answer.code == code, (answer.output + answer.errors).c_str());
  QVERIFY2(answer.errors.find(part.toStdString()) != std::string::npos, answer.errors.c_str());
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliTokenizer)
#include "test_cli_tokenizer.moc"
