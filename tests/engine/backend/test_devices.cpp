// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QtTest/QtTest>

#include "engine/backend/cuda/nvml.h"
#include "engine/backend/cuda/plugin_loader.h"
#include "engine/base/file.h"
#include "engine/base/machine.h"
#include "tests/fakes/pretended_cards.h"
#include "tests/support/expect_error.h"

namespace athanor {
namespace {

using Answers = std::map<std::string, std::string>;

constexpr std::int64_t kMiB = 1 << 20;

}  // namespace
}  // namespace athanor

Q_DECLARE_METATYPE(athanor::Answers)

namespace athanor {

/// What is said of graphics cards, whatever is wrong with them, their driver or the plug-in. The
/// libraries are fakes; no test looks at this machine's own.
class TestDevices : public QObject {
  Q_OBJECT

 private slots:
  void init();
  void cleanup() { cards_.reset(); }

  void a_good_card_is_found();
  void what_the_driver_says_data();
  void what_the_driver_says();
  void without_a_card_data();
  void without_a_card();
  void a_card_without_a_driver_is_seen_data();
  void a_card_without_a_driver_is_seen();
  void what_is_wrong_with_the_plugin_data();
  void what_is_wrong_with_the_plugin();
  void an_unusable_card_needs_no_plugin();
  void the_best_is_chosen_among_cards();
  void a_choice_is_checked();
  void a_backend_comes_from_the_plugin();
  void a_card_s_free_memory_is_told();
  void readings_are_whole();
  void readings_leave_out_what_is_not_told();
  void throttling_in_words_data();
  void throttling_in_words();
  void without_monitoring_nothing_is_read();

 private:
  Devices look() const { return look_for_devices(PretendedCards::places()); }

  std::unique_ptr<PretendedCards> cards_;
};

void TestDevices::init() {
  cards_ = std::make_unique<PretendedCards>();
}

void TestDevices::a_good_card_is_found() {
  const Devices found = look();
  QCOMPARE(found.list.size(), std::size_t{2});
  QCOMPARE(found.no_card, std::string());
  const Device& card = found.list[0];
  QCOMPARE(card.id, std::string("cuda:0"));
  QCOMPARE(card.name, std::string("NVIDIA GeForce RTX 3070 Ti"));
  QCOMPARE(card.detail, std::string("compute capability 8.6, 48 multiprocessors, CUDA 13.0"));
  QCOMPARE(card.memory_bytes, 8192 * kMiB);
  QCOMPARE(card.uuid, PretendedCards::uuid());
  QCOMPARE(card.problem, std::string());
  QVERIFY(card.is_card() && card.usable());
  QCOMPARE(&found.best(), &card);
  const Device& processor = found.list[1];
  QCOMPARE(processor.id, std::string("cpu"));
  QCOMPARE(processor.name, processor_name());
  QVERIFY(processor.usable() && !processor.is_card() && processor.memory_bytes > 0);
  QCOMPARE(found.unused_card(processor), std::string());
}

void TestDevices::what_the_driver_says_data() {
  QTest::addColumn<Answers>("answers");
  QTest::addColumn<QString>("problem");
  QTest::newRow("driver too old")
      << Answers{{"version", "12040"}}
      << "The NVIDIA driver supports CUDA 12.4; Athanor needs 13.0: install driver 580 or newer.";
  QTest::newRow("card too old")
      << Answers{{"capability0", "61"}, {"name0", "NVIDIA GeForce GTX 1080"}}
      << "The NVIDIA GeForce GTX 1080 is too old: it has compute capability 6.1, and Athanor needs "
         "8.0, the first with BF16: a card of the RTX 30 series or newer.";
  QTest::newRow("just too old") << Answers{{"capability0", "75"}}
                                << "The NVIDIA GeForce RTX 3070 Ti is too old: it has compute "
                                   "capability 7.5, and Athanor needs 8.0, the first with BF16: a "
                                   "card of the RTX 30 series or newer.";
  QTest::newRow("the first that will do") << Answers{{"capability0", "80"}} << "";
  QTest::newRow("a newer driver") << Answers{{"version", "14020"}} << "";
}

void TestDevices::what_the_driver_says() {
  QFETCH(const Answers, answers);
  QFETCH(const QString, problem);
  cards_->set(answers);
  const Devices found = look();
  QCOMPARE(found.list.size(), std::size_t{2});
  QCOMPARE(QString::fromStdString(found.list[0].problem), problem);
  const bool good = problem.isEmpty();
  // The processor goes on in its place, and says so.
  QCOMPARE(found.best().id, std::string(good ? "cuda:0" : "cpu"));
  QCOMPARE(QString::fromStdString(found.unused_card(found.best())),
           good ? "" : QString::fromStdString(found.list[0].name) + " is not used. " + problem);
}

void TestDevices::without_a_card_data() {
  QTest::addColumn<Answers>("answers");
  QTest::addColumn<QString>("library");
  QTest::addColumn<QString>("problem");
  const QString driver = QString::fromStdString(PretendedCards::driver().string());
  QTest::newRow("no driver") << Answers{} << "libcuda-that-is-not-there.so.1"
                             << "No NVIDIA driver was found. If this computer has an NVIDIA card, "
                                "install driver 580 or newer.";
  QTest::newRow("driver there, no card")
      << Answers{{"init", "100"}} << driver
      << "The NVIDIA driver is there, but it finds no card. Check that the card sits firmly and "
         "has power, and that CUDA_VISIBLE_DEVICES does not hide it.";
  QTest::newRow("driver starts, no card")
      << Answers{{"count", "0"}} << driver
      << "The NVIDIA driver is there, but it finds no card. Check that the card sits firmly and "
         "has power, and that CUDA_VISIBLE_DEVICES does not hide it.";
  QTest::newRow("updated while in use")
      << Answers{{"init", "803"}} << driver
      << "The NVIDIA driver was updated while it was in use: restart the computer.";
  QTest::newRow("driver error")
      << Answers{{"init", "999"}} << driver
      << "The NVIDIA driver does not start (error 999, CUDA_ERROR_PRETENDED). Restart the "
         "computer; if that does not help, install driver 580 or newer.";
  QTest::newRow("an old driver's error")
      << Answers{{"init", "999"}, {"version", "11040"}} << driver
      << "The NVIDIA driver supports CUDA 11.4; Athanor needs 13.0: install driver 580 or newer.";
  QTest::newRow("a card that says nothing")
      << Answers{{"mute0", "1"}} << driver
      << "The NVIDIA driver does not tell what card 0 is. Restart the computer.";
  QTest::newRow("a driver without what is asked")
      << Answers{} << QString::fromStdString(PretendedCards::monitoring().string())
      << "The NVIDIA driver is too old: install driver 580 or newer.";
}

void TestDevices::without_a_card() {
  QFETCH(const Answers, answers);
  QFETCH(const QString, library);
  QFETCH(const QString, problem);
  cards_->set(answers);
  DevicePlaces places = PretendedCards::places();
  places.driver.library = library.toStdString();
  const Devices found = look_for_devices(places);
  QCOMPARE(QString::fromStdString(found.no_card), problem);
  QCOMPARE(found.list.size(), std::size_t{1});
  QCOMPARE(found.best().id, std::string("cpu"));
  QCOMPARE(found.unused_card(found.best()), std::string());
}

void TestDevices::a_card_without_a_driver_is_seen_data() {
  QTest::addColumn<QByteArray>("vendor");
  QTest::addColumn<QByteArray>("kind");
  QTest::addColumn<QByteArray>("library");
  QTest::addColumn<QString>("problem");
  const QByteArray none("libcuda-that-is-not-there.so.1");
  QTest::newRow("NVIDIA's card") << QByteArray("0x10de") << QByteArray("0x030000") << none
                                 << "There is an NVIDIA card, but no NVIDIA driver: install driver "
                                    "580 or newer, then restart the computer.";
  QTest::newRow("its sound") << QByteArray("0x10de") << QByteArray("0x040300") << none << "";
  QTest::newRow("another maker's") << QByteArray("0x1002") << QByteArray("0x030000") << none << "";
  QTest::newRow("no library")
      << QByteArray("0x10de") << QByteArray("0x030000") << QByteArray()
      << "The NVIDIA driver's library cannot be loaded. Restart the computer; if that does not "
         "help, install driver 580 or newer.";
}

void TestDevices::a_card_without_a_driver_is_seen() {
  QFETCH(const QByteArray, vendor);
  QFETCH(const QByteArray, kind);
  QFETCH(QByteArray, library);
  QFETCH(const QString, problem);
  const QTemporaryDir folder;
  const std::filesystem::path place = folder.path().toStdString();
  const std::filesystem::path card = place / "pci/0000:01:00.0";
  create_folders(card);
  write_file_atomically(card / "vendor", vendor.toStdString() + "\n");
  write_file_atomically(card / "class", kind.toStdString() + "\n");
  write_file_atomically(place / "libcuda.so.1", "not a library");
  if (library.isEmpty()) library = QByteArray::fromStdString((place / "libcuda.so.1").string());
  const Devices found = look_for_devices(
      {.driver = {.library = library.toStdString(), .plugged_in = place / "pci"}, .plugins = {}});
  const bool seen = !problem.isEmpty();
  QCOMPARE(found.list.size(), std::size_t(seen ? 2 : 1));
  QCOMPARE(found.no_card.empty(), seen);
  if (!seen) return;
  QCOMPARE(found.list[0].name, std::string("NVIDIA card"));
  QCOMPARE(QString::fromStdString(found.list[0].problem), problem);
  QVERIFY(!found.list[0].context.empty());
  QCOMPARE(found.best().id, std::string("cpu"));
}

void TestDevices::what_is_wrong_with_the_plugin_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<QString>("problem");
  QTest::addColumn<QString>("context");
  const auto text = [](const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
  };
  QTest::newRow("missing") << ""
                           << "The CUDA plug-in libathanor_cuda.so is missing. Install Athanor "
                              "with CUDA, or build it where the CUDA Toolkit 13 is installed."
                           << "Looked in %1";
  QTest::newRow("another version")
      << text(PretendedCards::other_version_folder() / "libathanor_cuda.so")
      << "The CUDA plug-in %1/libathanor_cuda.so is of another version of Athanor. Install "
         "Athanor again, program and plug-in together."
      << "The plug-in is of 0.0.1 interface 000000000000, the program of ";
  QTest::newRow("none of ours") << text(PretendedCards::monitoring())
                                << "The CUDA plug-in %1/libathanor_cuda.so is none of Athanor's. "
                                   "Install Athanor again, program and plug-in together."
                                << "";
  QTest::newRow("damaged") << "damaged"
                           << "The CUDA plug-in %1/libathanor_cuda.so cannot be loaded. Install "
                              "Athanor again, program and plug-in together."
                           << "libathanor_cuda.so: ";
}

void TestDevices::what_is_wrong_with_the_plugin() {
  QFETCH(const QString, file);
  QFETCH(const QString, problem);
  QFETCH(const QString, context);
  const QTemporaryDir folder;
  const QString plugin = folder.filePath("libathanor_cuda.so");
  if (file == "damaged") {
    write_file_atomically(plugin.toStdString(), "no library");
  } else if (!file.isEmpty()) {
    QVERIFY(QFile::copy(file, plugin));
  }
  DevicePlaces places = PretendedCards::places();
  places.plugins = {folder.path().toStdString()};
  const Devices found = look_for_devices(places);
  const Device& card = found.list[0];
  QCOMPARE(QString::fromStdString(card.problem), QString(problem).replace("%1", folder.path()));
  const QString details = QString::fromStdString(card.context);
  QVERIFY2(details.contains(QString(context).replace("%1", folder.path())), qPrintable(details));
  QCOMPARE(found.best().id, std::string("cpu"));
}

void TestDevices::an_unusable_card_needs_no_plugin() {
  cards_->set({{"capability0", "70"}});
  DevicePlaces places = PretendedCards::places();
  places.plugins = {};
  QVERIFY(look_for_devices(places).list[0].problem.find("too old") != std::string::npos);
}

void TestDevices::the_best_is_chosen_among_cards() {
  cards_->set({{"count", "3"}, {"capability0", "61"}, {"name1", "B"}, {"name2", "C"}});
  const Devices found = look();
  QCOMPARE(found.list.size(), std::size_t{4});
  QCOMPARE(found.best().id, std::string("cuda:1"));
  QCOMPARE(found.best().name, std::string("B"));
  QCOMPARE(found.usable("").id, std::string("cuda:1"));
  QCOMPARE(found.usable("cuda:2").name, std::string("C"));
  QCOMPARE(found.usable_ids(), (std::vector<std::string>{"cuda:1", "cuda:2", "cpu"}));
  QVERIFY(found.list[1].uuid != found.list[2].uuid);
  // A card that works is what counts; the old one beside it is no news, whatever is chosen.
  QCOMPARE(found.unused_card(found.best()), std::string());
  QCOMPARE(found.unused_card(found.usable("cpu")), std::string());
}

void TestDevices::a_choice_is_checked() {
  cards_->set({{"version", "12020"}});
  const Devices found = look();
  ATHANOR_EXPECT_ERROR(
      found.usable("cuda:7"), ErrorKind::invalid_argument,
      "There is no device called \"cuda:7\" in this machine. Choose one of: cuda:0, cpu.");
  ATHANOR_EXPECT_ERROR(
      found.usable("cuda:0"), ErrorKind::unsupported,
      "NVIDIA GeForce RTX 3070 Ti cannot be used. The NVIDIA driver supports CUDA 12.2; Athanor "
      "needs 13.0: install driver 580 or newer. Until then, choose cpu.");
}

void TestDevices::a_backend_comes_from_the_plugin() {
  // The process's own look at devices: the only one in this program.
  QCOMPARE(find_devices().best().id, std::string("cuda:0"));
  QCOMPARE(make_backend()->device().name, std::string("Pretended card 0"));
  QCOMPARE(make_backend({.device = "cuda:0"})->device().name, std::string("Pretended card 0"));
  QVERIFY(make_backend({.device = "cpu"})->device().name != "Pretended card 0");
  cards_->set({{"refusal", "The card is in use. Close the other program."}});
  // Thrown in the plug-in, caught here.
  ATHANOR_EXPECT_ERROR(make_backend({.device = "cuda:0"}), ErrorKind::unsupported,
                       "The card is in use. Close the other program.");
}

void TestDevices::a_card_s_free_memory_is_told() {
  const Device card{.id = "cuda:0",
                    .name = "A card",
                    .memory_bytes = 8192 * kMiB,
                    .uuid = PretendedCards::uuid()};
  cards_->set({{"used_mib", "1500"}, {"own_mib", "1000"}});
  QCOMPARE(available_bytes(card), (8192 - 500 - 390) * kMiB);
  cards_->set({{"own_mib", ""}});
  QCOMPARE(available_bytes(card), (8192 - 1500 - 390) * kMiB);
  cards_->set({{"used_mib", "8192"}});
  QCOMPARE(available_bytes(card), std::int64_t{0});
}

void TestDevices::readings_are_whole() {
  cards_->set({{"used_mib", "3000"},
               {"own_mib", "2500"},
               {"busy", "97"},
               {"power_mw", "215500"},
               {"limit_mw", "290000"},
               {"temperature", "68"},
               {"reasons", "0x1"}});
  const CardReading reading = Nvml(PretendedCards::monitoring()).read(PretendedCards::uuid());
  QCOMPARE(reading.total_bytes, std::optional(8192 * kMiB));
  QCOMPARE(reading.used_bytes, std::optional(3000 * kMiB));
  QCOMPARE(reading.own_bytes, std::optional(2500 * kMiB));
  QCOMPARE(reading.utilisation_percent, std::optional(97));
  QCOMPARE(reading.power_w, std::optional(215.5));
  QCOMPARE(reading.power_limit_w, std::optional(290.0));
  QCOMPARE(reading.temperature_c, std::optional(68));
  // An idle card clocks down; that is no throttling.
  QVERIFY(reading.throttles && reading.throttles->empty());
}

void TestDevices::readings_leave_out_what_is_not_told() {
  const Nvml monitoring(PretendedCards::monitoring());
  const CardReading nothing = monitoring.read(PretendedCards::uuid());
  QVERIFY(!nothing.used_bytes && !nothing.total_bytes && !nothing.own_bytes);
  QVERIFY(!nothing.utilisation_percent && !nothing.power_w && !nothing.power_limit_w);
  QVERIFY(!nothing.temperature_c && !nothing.throttles);
  cards_->set({{"temperature", "50"}, {"own_mib", "300"}, {"strange_pids", "1"}});
  const CardReading some = monitoring.read(PretendedCards::uuid());
  QCOMPARE(some.temperature_c, std::optional(50));
  QVERIFY2(!some.own_bytes, "another process's memory is not this one's");
  cards_->set({{"own_mib", "-1"}, {"strange_pids", ""}});
  QVERIFY(!monitoring.read(PretendedCards::uuid()).own_bytes);
  QVERIFY(!monitoring.read("GPU-of-another-machine").temperature_c);
}

void TestDevices::throttling_in_words_data() {
  QTest::addColumn<QString>("bits");
  QTest::addColumn<QStringList>("words");
  QTest::newRow("none") << "0" << QStringList{};
  QTest::newRow("power") << "0x4" << QStringList{"at its power limit"};
  QTest::newRow("heat, by software") << "0x20" << QStringList{"too hot"};
  QTest::newRow("heat, by hardware") << "0x48" << QStringList{"too hot"};
  QTest::newRow("supply") << "0x88" << QStringList{"short of power from the supply"};
  QTest::newRow("hardware") << "0x8" << QStringList{"slowed down by its hardware"};
  QTest::newRow("set by hand") << "0x2" << QStringList{"its clock is set lower"};
  QTest::newRow("in step") << "0x10" << QStringList{"kept in step with another card"};
  QTest::newRow("two") << "0x24" << QStringList{"at its power limit", "too hot"};
}

void TestDevices::throttling_in_words() {
  QFETCH(const QString, bits);
  QFETCH(const QStringList, words);
  cards_->set({{"reasons", bits.toStdString()}});
  for (const auto& library : {PretendedCards::monitoring(), PretendedCards::old_monitoring()}) {
    const auto read = Nvml(library).read(PretendedCards::uuid()).throttles;
    QVERIFY(read.has_value());
    QStringList said;
    for (const Throttle reason : *read)
      said << QString::fromUtf8(words_of(reason).data());
    QCOMPARE(said, words);
  }
}

void TestDevices::without_monitoring_nothing_is_read() {
  cards_->set({{"temperature", "50"}});
  QVERIFY(!Nvml("libnvidia-that-is-not-there.so").read(PretendedCards::uuid()).temperature_c);
  cards_->set({{"nvml_init", "9"}});
  QVERIFY(!Nvml(PretendedCards::monitoring()).read(PretendedCards::uuid()).temperature_c);
}

}  // namespace athanor

QTEST_GUILESS_MAIN(athanor::TestDevices)
#include "test_devices.moc"
