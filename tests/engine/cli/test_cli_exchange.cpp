// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <filesystem>

#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {
namespace fs = std::filesystem;

/// Models that leave the program and come back, through athanorctl.
class TestCliExchange : public QObject {
  Q_OBJECT

 private slots:
  void a_model_goes_out_and_comes_back_data();
  void a_model_goes_out_and_comes_back();
  void mistakes_are_told_data();
  void mistakes_are_told();
  void an_import_has_no_training_to_go_on_with();

 private:
  static QString text_of(const fs::path& path) { return QString::fromStdString(path.string()); }
  static std::string said(const CommandLine& line, const QStringList& whom) {
    const Answer answer = line.run(
        QStringList{"--json", "chat", "--prompt", "Once", "--length", "12", "--temperature", "0"} +
        whom);
    return answer.code == 0 ? answer.last("answer").at("text").get<std::string>() : answer.errors;
  }
};

void TestCliExchange::a_model_goes_out_and_comes_back_data() {
  QTest::addColumn<QString>("kind");
  QTest::addColumn<QString>("file");
  QTest::newRow("Hugging Face") << "hf"
                                << "model.safetensors";
  QTest::newRow("GGUF") << "gguf"
                        << "tiny-f32.gguf";
}

void TestCliExchange::a_model_goes_out_and_comes_back() {
  QFETCH(const QString, kind);
  QFETCH(const QString, file);
  const CommandLine line;
  QCOMPARE(line.train({"--name", "tiny"}).code, 0);
  const std::string text = said(line, {"1"});
  const fs::path folder = line.folder() / "out";
  const Answer out = line.run({"--json", "export", "1", text_of(folder), "--to", kind});
  QVERIFY2(out.code == 0, out.errors.c_str());
  QCOMPARE(out.last("exported").at("type").get<std::string>(), std::string("f32"));
  QVERIFY(fs::exists(folder / file.toStdString()));
  QCOMPARE(said(line, {"--model", text_of(folder)}), text);

  const Answer in = line.run({"--json", "import", text_of(folder), "--name", "back again"});
  QVERIFY2(in.code == 0, in.errors.c_str());
  QCOMPARE(in.last("imported").at("run").get<int>(), 2);
  QVERIFY(in.last("imported").at("notices").empty());
  QCOMPARE(said(line, {"2"}), text);
  QCOMPARE(said(line, {"--model", "back again"}), text);
  QVERIFY(line.run({"runs"}).output.find("back again") != std::string::npos);
  // And out again, the same to the byte.
  const fs::path again = line.folder() / "again";
  QCOMPARE(line.run({"export", "2", text_of(again), "--to", "hf"}).code, 0);
  const fs::path first = line.folder() / "first";
  QCOMPARE(line.run({"export", "1", text_of(first), "--to", "hf"}).code, 0);
  QVERIFY(read_small_file(again / "model.safetensors") ==
          read_small_file(first / "model.safetensors"));
}

void TestCliExchange::mistakes_are_told_data() {
  QTest::addColumn<QStringList>("arguments");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("sentence");
  const auto row = [](const char* name, const QStringList& arguments, int code,
                      const char* sentence) {
    QTest::newRow(name) << arguments << code << QString(sentence);
  };
  row("no such file", {"import", "/nonexistent"}, 3, "There is no file or folder /nonexistent.");
  row("context", {"import", "/nonexistent", "--context", "many"}, 2, "--context");
  row("kind", {"export", "1", "out", "--to", "onnx"}, 2, "--to must be hf, gguf or peft");
  row("type", {"export", "1", "out", "--to", "gguf", "--type", "q9"}, 2, "--type must be f32");
  row("no such run", {"export", "9", "out", "--to", "hf"}, 3, "There is no run 9.");
  row("nobody to talk to", {"chat"}, 2, "Say whom to talk to");
  row("two to talk to", {"chat", "1", "--model", "x"}, 2, "Say whom to talk to");
  row("unknown model", {"chat", "--model", "nobody"}, 3, "no model of that name was imported");
}

void TestCliExchange::mistakes_are_told() {
  QFETCH(const QStringList, arguments);
  QFETCH(const int, code);
  QFETCH(const QString, sentence);
  const CommandLine line;
  const Answer answer = line.run(arguments);
  QVERIFY2(answer.code == code, answer.errors.c_str());
  QVERIFY2(QString::fromStdString(answer.errors).contains(sentence), answer.errors.c_str());
}

void TestCliExchange::an_import_has_no_training_to_go_on_with() {
  const CommandLine line;
  QCOMPARE(line.train({"--name", "tiny"}).code, 0);
  const QString folder = text_of(line.folder() / "out");
  QCOMPARE(line.run({"export", "1", folder, "--to", "hf", "--type", "bf16"}).code, 0);
  QCOMPARE(line.run({"import", folder}).code, 0);
  const Answer answer = line.run({"resume", "2"});
  QCOMPARE(answer.code, 2);
  QVERIFY2(answer.errors.find("Run 2 was imported") != std::string::npos, answer.errors.c_str());
  // Nothing is overwritten.
  QCOMPARE(line.run({"export", "2", folder, "--to", "hf"}).code, 2);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliExchange)
#include "test_cli_exchange.moc"
