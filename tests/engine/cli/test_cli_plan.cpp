// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QtTest/QtTest>

#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {
namespace {

QByteArray content(const std::filesystem::path& path) {
  QFile file(QString::fromStdString(path.string()));
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

/// athanorctl plan, as a person or a script meets it.
class TestCliPlan : public QObject {
  Q_OBJECT

 private slots:
  void says_what_training_then_takes();
  void measures_the_machine_once();
  void budgets_data();
  void budgets();
  void unknown_moments_are_refused();
  void bad_budgets_data();
  void bad_budgets();
  void buffers_are_written();

 private:
  Answer plan(const QStringList& arguments = {}) const {
    return line_.run(QStringList{"plan", "--spec", QString::fromStdString(line_.spec().string())} +
                     arguments);
  }

  /// One for all: the machine is measured once.
  const CommandLine line_;
};

void TestCliPlan::says_what_training_then_takes() {
  for (const QStringList& way :
       {QStringList{}, QStringList{"--recompute", "6"},
        QStringList{"--recompute", "2", "--recompute-further", "1", "--batch", "2"},
        QStringList{"--moments", "8bit"}}) {
    const Answer planned = plan(way + QStringList{"--json"});
    QCOMPARE(planned.code, 0);
    const Json said = planned.events().at(0);
    std::int64_t sum = 0;
    for (const auto& [role, bytes] : said.at("by_role").items())
      sum += bytes.get<std::int64_t>();
    QCOMPARE(sum, said.at("peak_bytes").get<std::int64_t>());
    QVERIFY(said.at("tokens_per_second").get<double>() > 0);
    QVERIFY(said.at("proposals").contains("fastest"));
    const Json trained = line_.train(way + QStringList{"--json"}).last("finished");
    QCOMPARE(trained.at("allocated_bytes"), said.at("peak_bytes"));
  }
}

void TestCliPlan::measures_the_machine_once() {
  const std::filesystem::path kept = line_.home() / "device-speed.json";
  std::filesystem::remove(kept);
  const Answer first = plan();
  QVERIFY(QByteArray::fromStdString(first.errors).contains("Measuring this machine once"));
  const QByteArray measured = content(kept);
  const Answer second = plan();
  QVERIFY(second.errors.empty());
  QCOMPARE(content(kept), measured);
  // A damaged measurement is made again.
  write_file_atomically(kept, measured.left(measured.size() / 2).toStdString());
  QVERIFY(!plan().errors.empty());
  QVERIFY(content(kept).size() > measured.size() / 2);
}

void TestCliPlan::budgets_data() {
  QTest::addColumn<QString>("budget");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("plenty") << "8 GiB" << 0 << "of 8.00 GiB: fits";
  QTest::newRow("fraction") << "0.5g" << 0 << "of 512.0 MiB: fits";
  QTest::newRow("too little") << "600KB" << 6 << "does not fit";
  QTest::newRow("far too little") << "1000" << 6 << "Nothing fits";
}

void TestCliPlan::budgets() {
  QFETCH(QString, budget);
  QFETCH(int, code);
  QFETCH(QString, sentence);
  const Answer answer = plan({"--budget", budget, "--explain"});
  QCOMPARE(answer.code, code);
  const QString said = QString::fromStdString(answer.output);
  QVERIFY2(said.contains(sentence), qPrintable(said));
  QVERIFY2(said.contains("The peak is in the"), qPrintable(said));
}

void TestCliPlan::bad_budgets_data() {
  QTest::addColumn<QString>("budget");
  for (const char* budget : {"0", "-3G", "much", "8X", "G", "1e30", "nan", "8 GiB free"})
    QTest::newRow(budget) << budget;
}

void TestCliPlan::unknown_moments_are_refused() {
  const Answer answer = plan({"--moments", "4bit"});
  QCOMPARE(answer.code, 2);
  QVERIFY2(QString::fromStdString(answer.errors).contains("--moments"), answer.errors.c_str());
}

void TestCliPlan::bad_budgets() {
  QFETCH(QString, budget);
  const Answer answer = plan({"--budget=" + budget});
  QCOMPARE(answer.code, 2);
  QVERIFY2(QString::fromStdString(answer.errors).contains("--budget must be an amount of memory"),
           answer.errors.c_str());
}

void TestCliPlan::buffers_are_written() {
  const std::filesystem::path table = line_.folder() / "buffers.csv";
  QCOMPARE(plan({"--buffers", QString::fromStdString(table.string())}).code, 0);
  const QByteArray text = content(table);
  QVERIFY(text.startsWith("name,role,bytes,"));
  QVERIFY(text.contains("\"second moments\",optimizer,"));
  const Answer nowhere = plan({"--buffers", "/nowhere/at/all.csv"});
  QCOMPARE(nowhere.code, 3);
  QVERIFY2(QString::fromStdString(nowhere.errors).contains("/nowhere/at/all.csv"),
           nowhere.errors.c_str());
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliPlan)
#include "test_cli_plan.moc"
