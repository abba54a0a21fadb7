// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QtTest/QtTest>

#include <vector>

#include "engine/backend/cuda/card_traits.h"
#include "engine/base/file.h"
#include "engine/planner/cards.h"
#include "engine/session/run_spec.h"
#include "engine/train/train_plan.h"
#include "tests/engine/cli/command_line.h"

namespace athanor {
namespace {

QByteArray content(const std::filesystem::path& path) {
  QFile file(QString::fromStdString(path.string()));
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

/// athanorctl plan, as a person or a script meets it.
class TestCliPlan : public QObject {
  Q_OBJECT

 private slots:
  void says_what_training_then_takes();
  void measures_the_machine_once();
  void a_killed_measurement_is_made_again();
  void budgets_data();
  void budgets();
  void unknown_moments_are_refused();
  void bad_budgets_data();
  void bad_budgets();
  void buffers_are_written();
  void a_card_is_planned_for();
  void a_billion_parameters_fit_a_card_of_16_gigabytes();
  void fp8_is_planned_for_cards_that_have_it();
  void unknown_cards_are_refused();
  void cards_are_listed();
  void says_what_is_offloaded();
  void warns_of_a_full_drive();

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
        QStringList{"--moments", "8bit"},
        QStringList{"--weights", "bf16_split", "--gradients", "bf16", "--activations", "bf16"},
        QStringList{"--recompute", "7", "--offload-moments", "--offload-gradients"},
        QStringList{"--weights", "bf16_master", "--offload-master"}}) {
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
    const bool offloads = way.join(' ').contains("--offload");
    QCOMPARE(trained.at("offloaded_bytes").get<std::int64_t>() > 0, offloads);
    // Rehearsed only in the window.
    QVERIFY(line_.run({"runs", "--json"}).events().at(0).at(0).at("rehearsal").is_null());
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

/// At any moment, while the file is being written too.
void TestCliPlan::a_killed_measurement_is_made_again() {
  const CommandLine line;
  const QStringList words = {"plan", "--spec", QString::fromStdString(line.spec().string()),
                             "--home", QString::fromStdString(line.home().string())};
#ifdef ATHANOR_SANITIZED  // where a measurement takes half a minute
  const std::vector<int> moments_ms{300, 10'000};
#else
  const std::vector<int> moments_ms{50, 300, 600, 900, 1100, 1200, 1300, 1500};
#endif
  for (const int after_ms : moments_ms) {
    std::filesystem::remove(line.home() / "device-speed.json");
    QProcess process;
    process.start(ATHANORCTL, words);
    process.waitForFinished(after_ms);
    process.kill();
    process.waitForFinished();
    const Answer answer = line.run(words);
    QCOMPARE(answer.code, 0);
    QVERIFY(QString::fromStdString(answer.output).contains("tokens/s"));
  }
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
  QVERIFY(text.startsWith("name,role,where,bytes,"));
  QVERIFY(text.contains("\"second moments\",optimizer,memory,"));
  const Answer nowhere = plan({"--buffers", "/nowhere/at/all.csv"});
  QCOMPARE(nowhere.code, 3);
  QVERIFY2(QString::fromStdString(nowhere.errors).contains("/nowhere/at/all.csv"),
           nowhere.errors.c_str());
}

void TestCliPlan::a_card_is_planned_for() {
  const Answer text = plan({"--card", "rtx 4060", "--explain"});
  QCOMPARE(text.code, 0);
  QVERIFY(has(text.output, "Planned for a card, RTX 4060, from its maker's figures"));
  QVERIFY(has(text.output, "Predicted on RTX 4060, estimate"));
  QVERIFY(has(text.output, "The peak is in the"));
  const Json here = plan({"--json"}).events().at(0);
  const Json there = plan({"--card", "rtx 4060", "--json"}).events().at(0);
  QVERIFY(!here.at("estimate").get<bool>() && there.at("estimate").get<bool>());
  QCOMPARE(there.at("device").get<std::string>(), std::string("RTX 4060"));
  QCOMPARE(there.at("budget_bytes").get<std::int64_t>(),
           (std::int64_t{8} << 30) - (std::int64_t{390} << 20));
  // Another budget counts as far as the card has it.
  const auto budget = [&](const QString& typed) {
    const Json said = plan({"--card", "rtx 4060", "--budget", typed, "--json"}).events().at(0);
    return said.at("budget_bytes").get<std::int64_t>();
  };
  QCOMPARE(budget("4GiB"), std::int64_t{4} << 30);
  QCOMPARE(budget("99GiB"), there.at("budget_bytes").get<std::int64_t>());
}

/// The first of tests/golden/check_cases.json, as it is asked for.
void TestCliPlan::a_billion_parameters_fit_a_card_of_16_gigabytes() {
  RunSpec spec = preset("1b").spec;
  spec.train.moments = Moments::eight_bit;
  spec.train.gradients = Precision::bf16;
  spec.train.micro_batch = 1;
  spec.train.gradient_accumulation = 16;
  spec.train.head_chunk_tokens = 2048;
  const Json said =
      line_
          .run({"plan", "--preset", "1b", "--card", "RTX 5080", "--moments", "8bit", "--gradients",
                "bf16", "--batch", "1", "--accumulation", "16", "--head-chunk", "2048", "--json"})
          .events()
          .at(0);
  QCOMPARE(said.at("peak_bytes").get<std::int64_t>(),
           plan_training(spec.model, on_card(spec.train), cuda::card_traits()).memory.peak_bytes);
  QVERIFY(said.at("fits").get<bool>());
}

void TestCliPlan::fp8_is_planned_for_cards_that_have_it() {
  const auto planned = [&](const QStringList& more) {
    const QStringList asked = {"plan", "--preset", "1b", "--card", "RTX 4090", "--json"};
    return line_.run(asked + more).events().at(0);
  };
  const Json plain = planned({});
  const Json fp8 = planned({"--products", "fp8"});
  QVERIFY(fp8.at("tokens_per_second").get<double>() > plain.at("tokens_per_second").get<double>());
  QVERIFY(fp8.at("peak_bytes").get<std::int64_t>() > plain.at("peak_bytes").get<std::int64_t>());
  const Answer older = plan({"--card", "RTX 3070 Ti", "--products", "fp8"});
  QVERIFY(older.code != 0);
  QVERIFY2(has(older.errors, "--products fp8 needs a card of compute capability 8.9"),
           older.errors.c_str());
  QVERIFY(plan({"--products", "fp8"}).code != 0);
}

void TestCliPlan::unknown_cards_are_refused() {
  const Answer unknown = plan({"--card", "RTX 4061"});
  QVERIFY(unknown.code != 0);
  QVERIFY(has(unknown.errors, "There is no card \"RTX 4061\""));
  const Answer old = plan({"--card", "T4"});
  QVERIFY(old.code != 0);
  QVERIFY(has(old.errors, "The T4 cannot train: it has no BF16"));
}

void TestCliPlan::cards_are_listed() {
  const Answer text = line_.run({"cards"});
  QCOMPARE(text.code, 0);
  QVERIFY(has(text.output, "RTX 3070 Ti") && has(text.output, "no BF16"));
  QVERIFY(line_.run({"cards", "--json"}).events().at(0).size() > 40);
  const CommandLine damaged;
  std::filesystem::create_directories(damaged.home());
  write_file_atomically(damaged.home() / "cards.csv", "nonsense\n");
  const Answer refused = damaged.run({"cards"});
  QVERIFY(refused.code != 0);
  QVERIFY(has(refused.errors, "cards.csv, line 1: the first line must be name,"));
}

void TestCliPlan::says_what_is_offloaded() {
  QVERIFY(!QString::fromStdString(plan().output).contains("Offloaded"));
  QCOMPARE(plan({"--json"}).events().at(0).at("host_bytes").get<std::int64_t>(), std::int64_t{0});
  const QStringList way{"--offload-moments", "--offload-gradients"};
  const Answer answer = plan(way);
  QCOMPARE(answer.code, 0);
  const QString said = QString::fromStdString(answer.output);
  QVERIFY2(said.contains("in a file of the run's folder (gradients "), qPrintable(said));
  QVERIFY2(said.contains(", first moments "), qPrintable(said));
  QVERIFY2(answer.errors.empty(), answer.errors.c_str());
  const Json json = plan(way + QStringList{"--json"}).events().at(0);
  QVERIFY(json.at("host_bytes").get<std::int64_t>() > 0);
  QVERIFY(json.at("drive_free_bytes").get<std::int64_t>() > 0);
  // A card's host is the computer that it is in.
  QVERIFY(has(plan(way + QStringList{"--card", "RTX 4060"}).output,
              "in the computer's own memory (gradients "));
}

void TestCliPlan::warns_of_a_full_drive() {
  // About 1 TiB of moments, which no run would get anyway; few layers are planned at once.
  const Answer answer =
      plan({"--layers", "6", "--width", "32768", "--heads", "256", "--kv-heads", "256", "--ffn",
            "131072", "--vocabulary", "500000", "--offload-moments", "--json"});
  const Json json = answer.events().at(0);
  if (json.at("host_bytes") <= json.at("drive_free_bytes")) QSKIP("this drive has room even so");
  const std::string& errors = answer.errors;
  QVERIFY2(errors.find("Make room there, or offload less.") != std::string::npos, errors.c_str());
  QVERIFY(errors.find(line_.home().string()) != std::string::npos);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliPlan)
#include "test_cli_plan.moc"
