// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "tests/engine/cli/command_line.h"
#include "tests/fakes/pretended_cards.h"

namespace athanor {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

/// athanorctl with the CUDA backend's own kernels, on an emulated card: trouble in a run.
class TestCliCard : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase();
  void init();
  void a_lost_card_pauses_the_run_and_the_processor_goes_on();
  void too_little_memory_on_the_card_is_said();
  void fp8_trains_where_the_card_has_it();
  void chat_runs_on_the_card();
  void cleanupTestCase() { cards_.reset(); }

 private:
  /// The newest run as `runs` lists it.
  Json newest() const { return line_.run({"runs", "--json"}).events().at(0).at(0); }

  const CommandLine line_;
  std::unique_ptr<PretendedCards> cards_;
};

void TestCliCard::initTestCase() {
#ifdef __SANITIZE_THREAD__
  QSKIP("ThreadSanitizer keeps a fiber for each CUDA thread: too slow for whole runs");
#endif
  cards_ = std::make_unique<PretendedCards>();
  qputenv("ATHANOR_PLUGINS",
          QByteArray::fromStdString(PretendedCards::emulated_plugin_folder().string()));
}

void TestCliCard::init() {
  cards_->set({{"lost_after", ""}, {"emulated_bytes", ""}, {"capability0", ""}});
}

void TestCliCard::a_lost_card_pauses_the_run_and_the_processor_goes_on() {
  // In the second half of the run: after its first checkpoint.
  cards_->set({{"lost_after", "5000"}});
  const Answer lost = line_.train({"--json", "--device", "cuda:0"});
  QCOMPARE(lost.code, 7);
  QVERIFY2(has(lost.output + lost.errors, "The card stopped answering."), lost.errors.c_str());
  const Json record = newest();
  QCOMPARE(record.at("status").get<std::string>(), std::string("paused"));
  QVERIFY(has(record.at("problem").get<std::string>(), "Then resume."));
  const auto step = record.at("step").get<std::int64_t>();
  QVERIFY2(step >= 4 && step < 12, std::to_string(step).c_str());
  const QString run = QString::number(record.at("run").get<std::int64_t>());
  const Answer resumed = line_.run({"resume", run, "--json", "--device", "cpu"});
  QCOMPARE(resumed.code, 0);
  QCOMPARE(newest().at("status").get<std::string>(), std::string("finished"));
}

void TestCliCard::too_little_memory_on_the_card_is_said() {
  cards_->set({{"emulated_bytes", "1048576"}});
  const Answer refused = line_.train({"--device", "cuda:0"});
  QCOMPARE(refused.code, 3);
  QVERIFY2(has(refused.output + refused.errors, "not enough free memory"), refused.errors.c_str());
  QCOMPARE(newest().at("status").get<std::string>(), std::string("paused"));
}

void TestCliCard::fp8_trains_where_the_card_has_it() {
  // A layer that FP8 has no products of: they are made in BF16, and that is said.
  const QStringList asked = {"--device", "cuda:0", "--products", "fp8",
                             "--ffn",    "40",     "--steps",    "2"};
  const Answer refused = line_.train(asked);
  QVERIFY(refused.code != 0);
  QVERIFY2(has(refused.output + refused.errors, "compute capability 8.9"), refused.errors.c_str());
  cards_->set({{"capability0", "89"}});
  const Answer trained = line_.train(asked);
  QCOMPARE(trained.code, 0);
  QVERIFY2(has(trained.output + trained.errors, "are made in BF16: FP8 needs multiples of 16."),
           trained.output.c_str());
  QCOMPARE(newest().at("status").get<std::string>(), std::string("finished"));
}

void TestCliCard::chat_runs_on_the_card() {
  const Answer trained = line_.train({"--json", "--device", "cuda:0"});
  QCOMPARE(trained.code, 0);
  const QString run = QString::number(trained.last("started").at("run").get<std::int64_t>());
  const QStringList asked = {"chat", run, "--prompt", "The cat", "--length", "6"};
  const Answer on_card = line_.run(asked + QStringList{"--device", "cuda:0"});
  QCOMPARE(on_card.code, 0);
  QVERIFY(on_card.output.size() > 1);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliCard)
#include "test_cli_card.moc"
