// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/base/file.h"
#include "tests/engine/cli/command_line.h"
#include "tests/fakes/pretended_cards.h"

namespace athanor {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Every loss of a training, as it was told.
std::vector<double> losses(const Answer& trained) {
  std::vector<double> values;
  for (const Json& event : trained.events()) {
    if (event.value("event", "") == "step") values.push_back(event.at("loss").get<double>());
  }
  return values;
}

constexpr const char* kOld_driver =
    "The NVIDIA driver supports CUDA 12.4; Athanor needs 13.0: install driver 580 or newer.";

}  // namespace

/// athanorctl with a graphics card, as far as one can be pretended.
class TestCliDevices : public QObject {
  Q_OBJECT

 private slots:
  void init() { cards_ = std::make_unique<PretendedCards>(); }
  void cleanup() { cards_.reset(); }
  void devices_are_listed();
  void a_card_with_a_problem_is_listed();
  void no_card_is_explained();
  void a_whole_run_goes_through_the_card();
  void the_processor_goes_on_and_says_why();
  void a_device_that_cannot_be_used_is_refused_data();
  void a_device_that_cannot_be_used_is_refused();
  void plans_are_for_the_device();
  void a_card_too_small_is_told();

 private:
  const CommandLine line_;
  std::unique_ptr<PretendedCards> cards_;
};

void TestCliDevices::devices_are_listed() {
  const Answer text = line_.run({"devices"});
  QCOMPARE(text.code, 0);
  QVERIFY2(has(text.output, "cuda:0  NVIDIA GeForce RTX 3070 Ti"), text.output.c_str());
  QVERIFY(has(text.output, "8.00 GiB  compute capability 8.6, 48 multiprocessors, CUDA 13.0\n"));
  QVERIFY(has(text.output, "Runs take cuda:0, unless --device names another."));
  QVERIFY(!has(text.output, "not used"));
  cards_->set({{"used_mib", "2192"}});
  const Json json = line_.run({"devices", "--json"}).events().at(0);
  const Json& card = json.at("devices").at(0);
  QCOMPARE(card.at("device").get<std::string>(), std::string("cuda:0"));
  QCOMPARE(card.at("best").get<bool>(), true);
  QCOMPARE(card.at("problem").get<std::string>(), std::string());
  QCOMPARE(card.at("available_bytes").get<std::int64_t>(), (8192LL - 2192 - 390) << 20);
  QCOMPARE(json.at("devices").at(1).at("device").get<std::string>(), std::string("cpu"));
  QCOMPARE(json.at("devices").at(1).at("best").get<bool>(), false);
  QCOMPARE(json.at("no_card").get<std::string>(), std::string());
}

void TestCliDevices::a_card_with_a_problem_is_listed() {
  cards_->set({{"version", "12040"}});
  const Answer text = line_.run({"devices"});
  QCOMPARE(text.code, 0);
  QVERIFY2(has(text.output, std::string("not used: ") + kOld_driver), text.output.c_str());
  QVERIFY(has(text.output, "Runs take cpu,"));
  qputenv("ATHANOR_PLUGINS", "/nowhere");
  cards_->set({{"version", ""}});
  const Json json = line_.run({"devices", "--json"}).events().at(0);
  const Json& card = json.at("devices").at(0);
  QVERIFY(has(card.at("problem").get<std::string>(), "libathanor_cuda.so is missing."));
  QCOMPARE(card.at("context").get<std::string>(), std::string("Looked in /nowhere"));
  QVERIFY(card.at("available_bytes").is_null());
}

void TestCliDevices::no_card_is_explained() {
  cards_->set({{"count", "0"}});
  QVERIFY(has(line_.run({"devices"}).output, "The NVIDIA driver is there, but it finds no card."));
}

void TestCliDevices::a_whole_run_goes_through_the_card() {
  const Answer on_card = line_.train({"--json"});
  QCOMPARE(on_card.code, 0);
  QCOMPARE(on_card.errors, std::string());
  const Json started = on_card.last("started");
  const std::int64_t run = started.at("run").get<std::int64_t>();
  QCOMPARE(started.at("device_id").get<std::string>(), std::string("cuda:0"));
  QCOMPARE(started.at("device").get<std::string>(),
           std::string("Pretended card 0, on the processor"));
  const Json kept = line_.run({"runs", "--json"}).events().at(0).at(0);
  QCOMPARE(kept.at("device").get<std::string>(), std::string("Pretended card 0, on the processor"));
  // The pretended card is the processor: it computes the same from what a card stores.
  const Answer on_processor = line_.train(
      {"--json", "--device", "cpu", "--weights", "bf16_master", "--activations", "bf16"});
  QCOMPARE(on_processor.last("started").at("device_id").get<std::string>(), std::string("cpu"));
  QVERIFY(!has(on_processor.last("started").at("device").get<std::string>(), "Pretended"));
  QCOMPARE(losses(on_card).size(), std::size_t{12});
  QCOMPARE(losses(on_card), losses(on_processor));
  const Answer chatted = line_.run(
      {"chat", QString::number(run), "--prompt", "The cat", "--length", "4", "--device", "cuda:0"});
  QCOMPARE(chatted.code, 0);
  QVERIFY(chatted.output.size() > 1);
  // Chat has the card to itself, or says why not.
  cards_->set({{"refusal", "The card is in use. Close the other program."}});
  const Answer refused = line_.run({"chat", QString::number(run), "--prompt", "The cat"});
  QCOMPARE(refused.code, 6);
  QVERIFY(has(refused.errors, "The card is in use."));
}

void TestCliDevices::the_processor_goes_on_and_says_why() {
  cards_->set({{"version", "12040"}});
  const Answer trained = line_.train({"--json"});
  QCOMPARE(trained.code, 0);
  QCOMPARE(trained.last("started").at("device_id").get<std::string>(), std::string("cpu"));
  QCOMPARE(trained.errors, "Running on the processor: NVIDIA GeForce RTX 3070 Ti is not used. " +
                               std::string(kOld_driver) + "\n");
  // Whoever asks for the processor knows.
  QCOMPARE(line_.train({"--json", "--device", "cpu"}).errors, std::string());
}

void TestCliDevices::a_device_that_cannot_be_used_is_refused_data() {
  QTest::addColumn<QString>("version");
  QTest::addColumn<QString>("device");
  QTest::addColumn<int>("code");
  QTest::addColumn<QString>("sentence");
  QTest::newRow("unknown") << "13000"
                           << "gpu" << 2
                           << "There is no device called \"gpu\" in this machine. Choose one of: "
                              "cuda:0, cpu.";
  QTest::newRow("with a problem") << "12040"
                                  << "cuda:0" << 6
                                  << "NVIDIA GeForce RTX 3070 Ti cannot be used. The NVIDIA driver "
                                     "supports CUDA 12.4;";
  QTest::newRow("empty") << "13000"
                         << "" << 2 << "--device must name a device;";
}

void TestCliDevices::a_device_that_cannot_be_used_is_refused() {
  QFETCH(const QString, version);
  QFETCH(const QString, device);
  QFETCH(const int, code);
  QFETCH(const QString, sentence);
  cards_->set({{"version", version.toStdString()}});
  const CommandLine line;
  const Answer refused = line.train({"--device", device});
  QCOMPARE(refused.code, code);
  QVERIFY2(has(refused.errors, sentence.toStdString()), refused.errors.c_str());
  QCOMPARE(line.run({"runs", "--json"}).events().at(0).size(), std::size_t{0});
}

void TestCliDevices::plans_are_for_the_device() {
  cards_->set({{"used_mib", "192"}});
  const QStringList arguments{"plan", "--spec", QString::fromStdString(line_.spec().string()),
                              "--json"};
  const Json on_card = line_.run(arguments).events().at(0);
  QCOMPARE(on_card.at("budget_bytes").get<std::int64_t>(), (8000LL - 390) << 20);
  QCOMPARE(on_card.at("device").get<std::string>(), std::string("Pretended card 0"));
  const Json here = line_.run(arguments + QStringList{"--device", "cpu"}).events().at(0);
  QVERIFY(here.at("device").get<std::string>() != "Pretended card 0");
}

void TestCliDevices::a_card_too_small_is_told() {
  cards_->set({{"memory_mib0", "391"}});
  const CommandLine line;
  const Answer refused = line.train({"--width", "256", "--layers", "8"});
  QCOMPARE(refused.code, 2);
  QVERIFY2(has(refused.errors, " of memory and 0.00 GiB are free."), refused.errors.c_str());
  QCOMPARE(line.train({"--width", "256", "--layers", "8", "--device", "cpu", "--steps", "1"}).code,
           0);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestCliDevices)
#include "test_cli_devices.moc"
