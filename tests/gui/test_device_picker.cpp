// SPDX-License-Identifier: GPL-3.0-or-later
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QPlainTextEdit>
#include <QStandardItemModel>
#include <QtTest/QtTest>

#include "engine/base/machine.h"
#include "engine/planner/cards.h"
#include "gui/app/log_dock.h"
#include "gui/app/status_strip.h"
#include "gui/pages/device_panel.h"
#include "gui/pages/machine_card.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/run_page.h"
#include "tests/fakes/pretended_cards.h"
#include "tests/gui/window_fixture.h"
#include "widgets/elided_label.h"
#include "widgets/history_gauge.h"
#include "widgets/memory_bar.h"

namespace athanor {
namespace {

using State = RunController::State;

constexpr std::int64_t kMiB = 1 << 20;
constexpr int kPatience_ms = 60'000;
const QString kOldCard =
    "The NVIDIA GeForce GTX 1080 is too old: it has compute capability 6.1, and Athanor needs "
    "8.0, the first with BF16: a card of the RTX 30 series or newer.";

QComboBox* box(MainWindow& window) {
  return window.planPage()->findChild<QComboBox*>("device");
}

void choose(MainWindow& window, const QString& id) {
  const int at = box(window)->findData(id);
  QVERIFY2(at >= 0, qPrintable(id));
  box(window)->setCurrentIndex(at);
  emit box(window)->activated(at);
}

QString runningOn(MainWindow& window) {
  return window.findChild<StatusStrip*>()->findChild<QLabel*>("runningOn")->text();
}

ElidedLabel* unusedInStrip(MainWindow& window) {
  return window.findChild<StatusStrip*>()->findChild<ElidedLabel*>("unusedCard");
}

bool shows(const QWidget* widget, const QString& text) {
  const QList<QLabel*> labels = widget->findChildren<QLabel*>();
  return std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
    return label->isVisible() && label->text().contains(text);
  });
}

DevicePanel* panel(MainWindow& window) {
  return window.runPage()->findChild<DevicePanel*>();
}

/// What stands behind the name of a gauge that is shown; "hidden" when it is not.
QString gauge(MainWindow& window, const QString& name) {
  for (const HistoryGauge* each : panel(window)->findChildren<HistoryGauge*>()) {
    if (each->accessibleName() == name) {
      return each->isVisible() ? each->accessibleDescription() : "hidden";
    }
  }
  return "none of that name";
}

}  // namespace

/// Cards in the window, by fake libraries: chosen, used, watched, and explained when they cannot
/// be used.
class TestDevicePicker : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase();
  void init();
  void cleanupTestCase() { m_cards.reset(); }
  void theBestIsUsed();
  void cardsThatCannotBeUsedSayWhy();
  void theChoiceIsRemembered();
  void aRememberedCardThatIsGoneIsReplaced();
  void plansAreForTheChosenDevice();
  void aRunGoesThroughTheCard();
  void theCardIsWatched();
  void theProcessorIsWatched();
  void anUnusedCardIsSaidEverywhere();
  void theDeviceStaysInANarrowWindow();
  void aSlowDriverDoesNotHoldTheWindowUp();

 private:
  static void start(WindowFixture& fixture);
  static void stop(WindowFixture& fixture);

  std::unique_ptr<PretendedCards> m_cards;
};

void TestDevicePicker::initTestCase() {
  prepareApplication();
  m_cards = std::make_unique<PretendedCards>();
  m_cards->set({{"count", "2"}, {"capability1", "61"}, {"name1", "NVIDIA GeForce GTX 1080"}});
}

void TestDevicePicker::init() {
  m_cards->set({{"used_mib", "3000"},
                {"own_mib", "2500"},
                {"busy", "97"},
                {"power_mw", "215500"},
                {"limit_mw", "290000"},
                {"temperature", "68"},
                {"reasons", "0"},
                {"delay_ms", ""}});
}

void TestDevicePicker::start(WindowFixture& fixture) {
  fixture.window().startRun(fixture.tinySpec(1'000'000));
  QTRY_COMPARE_WITH_TIMEOUT(fixture.window().controller().state(), State::running, kPatience_ms);
}

void TestDevicePicker::stop(WindowFixture& fixture) {
  fixture.window().controller().stop();
  QTRY_COMPARE_WITH_TIMEOUT(fixture.window().controller().state(), State::ended, kPatience_ms);
}

void TestDevicePicker::theBestIsUsed() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  QTRY_COMPARE(box(window)->count(), 3);
  QVERIFY(box(window)->isEnabled());
  QCOMPARE(box(window)->currentText(), QString("RTX 3070 Ti, 8.00 GiB"));
  QVERIFY(box(window)->currentData(Qt::ToolTipRole).toString().contains("compute capability 8.6"));
  QCOMPARE(runningOn(window), QString("RTX 3070 Ti"));
  QVERIFY(unusedInStrip(window)->isHidden());
  QCOMPARE(window.controller().backend().device, std::string("cuda:0"));
  window.showPage(Page::firstRun);
  QVERIFY(shows(window.findChild<MachineCard*>(), "RTX 3070 Ti"));
  QVERIFY(shows(window.findChild<MachineCard*>(), "8.00 GiB of its own memory"));
}

void TestDevicePicker::cardsThatCannotBeUsedSayWhy() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  QTRY_COMPARE(box(window)->count(), 3);
  const int old = box(window)->findText("GTX 1080, 8.00 GiB");
  QCOMPARE(old, 1);
  const auto* items = qobject_cast<QStandardItemModel*>(box(window)->model());
  QVERIFY(!items->item(old)->isEnabled());
  QVERIFY(items->item(0)->isEnabled() && items->item(2)->isEnabled());
  QCOMPARE(box(window)->itemData(old, Qt::ToolTipRole).toString(), kOldCard);
  QVERIFY(shows(window.planPage()->form(), "GTX 1080 cannot be used. " + kOldCard));
  const QString log = window.findChild<LogDock*>()->findChild<QPlainTextEdit*>()->toPlainText();
  QVERIFY2(log.contains("NVIDIA GeForce GTX 1080 cannot be used. " + kOldCard), qPrintable(log));
  QCOMPARE(log.count("Running on: RTX 3070 Ti"), 1);
}

void TestDevicePicker::theChoiceIsRemembered() {
  WindowFixture fixture;
  QTRY_COMPARE(box(fixture.window())->count(), 3);
  choose(fixture.window(), "cpu");
  const QString processor = shortDeviceName(processor_name());
  QCOMPARE(runningOn(fixture.window()), processor);
  QCOMPARE(fixture.window().controller().backend().device, std::string("cpu"));
  fixture.restart();
  // Even before devices are found again.
  QCOMPARE(fixture.window().controller().backend().device, std::string("cpu"));
  QTRY_COMPARE(box(fixture.window())->currentData().toString(), QString("cpu"));
  QCOMPARE(runningOn(fixture.window()), processor);
  choose(fixture.window(), "cuda:0");
  fixture.restart();
  QTRY_COMPARE(runningOn(fixture.window()), QString("RTX 3070 Ti"));
}

void TestDevicePicker::aRememberedCardThatIsGoneIsReplaced() {
  WindowFixture fixture;
  fixture.window().settings().setDevice("cuda:7");
  fixture.restart();
  QTRY_COMPARE(box(fixture.window())->count(), 3);
  QCOMPARE(fixture.window().controller().backend().device, std::string("cuda:0"));
  fixture.window().settings().setDevice("cuda:1");
  fixture.restart();
  QTRY_COMPARE(box(fixture.window())->count(), 3);
  QCOMPARE(box(fixture.window())->currentData().toString(), QString("cuda:0"));
}

void TestDevicePicker::plansAreForTheChosenDevice() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::plan);
  auto* bar = window.planPage()->estimate()->findChild<MemoryBar*>();
  QTRY_COMPARE_WITH_TIMEOUT(bar->data().capacity_bytes, 8192 * kMiB, kPatience_ms);
  QCOMPARE(bar->data().free_bytes, (8192 - 500 - 390) * kMiB);
  choose(window, "cpu");
  QTRY_COMPARE_WITH_TIMEOUT(bar->data().capacity_bytes, total_memory_bytes(), kPatience_ms);
}

void TestDevicePicker::aRunGoesThroughTheCard() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QTRY_COMPARE(box(window)->count(), 3);
  const auto train = [&](const RunSpec& spec) {
    window.startRun(spec);
    QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, kPatience_ms);
  };
  train(fixture.tinySpec(30));
  const RunRecord onCard = window.controller().lastEnd()->record;
  QCOMPARE(onCard.status, RunStatus::finished);
  QCOMPARE(onCard.device, std::string("Pretended card 0, on the processor"));
  QCOMPARE(window.store().run(onCard.id)->device, onCard.device);
  choose(window, "cpu");
  // The pretended card is the processor: it learns the same from what a card stores.
  RunSpec there = fixture.tinySpec(30);
  there.train = on_card(there.train);
  train(there);
  const RunRecord onProcessor = window.controller().lastEnd()->record;
  QVERIFY(onProcessor.device != onCard.device);
  QCOMPARE(*onProcessor.loss, *onCard.loss);
}

void TestDevicePicker::theCardIsWatched() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QTRY_COMPARE(box(window)->count(), 3);
  start(fixture);
  // What the next run is on does not change what this one is on.
  choose(window, "cpu");
  QCOMPARE(runningOn(window), QString("Pretended card 0"));
  QTRY_COMPARE_WITH_TIMEOUT(gauge(window, "Utilisation"), QString("97 %"), kPatience_ms);
  QCOMPARE(gauge(window, "Power"), QString("216 of 290 W"));
  QCOMPARE(gauge(window, "Temperature"), QString::fromUtf8("68 °C, not throttled"));
  QCOMPARE(gauge(window, "Cores used"), QString("hidden"));
  const MemoryBarData memory = panel(window)->findChild<MemoryBar*>()->data();
  const std::int64_t planned = window.controller().session()->plan.memory.peak_bytes;
  QCOMPARE(memory.capacity_bytes, 8192 * kMiB);
  QCOMPARE(memory.segments[0].bytes, planned);
  QCOMPARE(memory.segments[1].bytes, 2500 * kMiB - planned);
  QCOMPARE(memory.free_bytes, (8192 - 500) * kMiB);
  QVERIFY(shows(panel(window), "2.93 of 8.00 GiB"));
  QVERIFY(shows(panel(window),
                QString::fromUtf8("This program: 2.44 GiB measured · others: 500.0 MiB")));
  m_cards->set({{"reasons", "0x4"}, {"power_mw", "290000"}});
  QTRY_COMPARE(gauge(window, "Power"), QString("290 of 290 W, at its limit"));
  m_cards->set({{"reasons", "0xE8"}, {"temperature", "91"}, {"own_mib", ""}, {"busy", ""}});
  QTRY_COMPARE(gauge(window, "Temperature"), QString::fromUtf8("91 °C, too hot"));
  QVERIFY(shows(panel(window), "Throttled: short of power from the supply"));
  QVERIFY(shows(panel(window), "the card does not say which has what"));
  QCOMPARE(gauge(window, "Utilisation"), QString::fromUtf8("–"));
  m_cards->set({{"reasons", "0"}, {"temperature", "60"}});
  QTRY_COMPARE(gauge(window, "Temperature"), QString::fromUtf8("60 °C, not throttled"));
  QVERIFY(!shows(panel(window), "Throttled"));
  stop(fixture);
  QTRY_COMPARE(gauge(window, "Power"), QString("hidden"));
  QCOMPARE(runningOn(window), shortDeviceName(processor_name()));
}

void TestDevicePicker::theProcessorIsWatched() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QTRY_COMPARE(box(window)->count(), 3);
  choose(window, "cpu");
  start(fixture);
  const QString of = QString(" of %1").arg(QThread::idealThreadCount());
  const auto cores = [&] { return gauge(window, "Cores used"); };
  QTRY_VERIFY_WITH_TIMEOUT(cores().endsWith(of) && !cores().startsWith("0.0"), kPatience_ms);
  for (const char* name : {"Utilisation", "Power", "Temperature"})
    QCOMPARE(gauge(window, name), QString("hidden"));
  QCOMPARE(panel(window)->findChild<MemoryBar*>()->data().capacity_bytes, total_memory_bytes());
  QVERIFY(shows(panel(window), "This program: "));
  QVERIFY(!shows(panel(window), "is not used"));
  stop(fixture);
}

void TestDevicePicker::anUnusedCardIsSaidEverywhere() {
  m_cards->set({{"version", "12040"}});
  const Devices found = look_for_devices(PretendedCards::places());
  m_cards->set({{"version", ""}});
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QTRY_COMPARE(box(window)->count(), 3);
  window.settings().setDevice("cuda:0");
  window.devices().take(found);
  const QString reason =
      "RTX 3070 Ti is not used. The NVIDIA driver supports CUDA 12.4; Athanor needs 13.0: install "
      "driver 580 or newer.";
  QCOMPARE(window.controller().backend().device, std::string("cpu"));
  QCOMPARE(runningOn(window), shortDeviceName(processor_name()));
  QVERIFY(unusedInStrip(window)->isVisible());
  QCOMPARE(unusedInStrip(window)->fullText(), reason);
  QCOMPARE(unusedInStrip(window)->toolTip(), reason);
  QTRY_VERIFY(unusedInStrip(window)->text().startsWith("RTX 3070 Ti is not used."));
  QVERIFY(shows(window.findChild<MachineCard*>(), "The NVIDIA driver supports CUDA 12.4"));
  window.showPage(Page::plan);
  // One reason of both cards is said once.
  QVERIFY(shows(window.planPage()->form(),
                "RTX 3070 Ti, GTX 1080 cannot be used. The NVIDIA driver supports CUDA 12.4"));
  start(fixture);
  QTRY_VERIFY(shows(panel(window), reason));
  QVERIFY(unusedInStrip(window)->isVisible());
  stop(fixture);
}

void TestDevicePicker::theDeviceStaysInANarrowWindow() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QTRY_COMPARE(box(window)->count(), 3);
  auto* strip = window.findChild<StatusStrip*>();
  window.resize(1280, 800);
  QTRY_VERIFY(shows(strip, "Running on:"));
  window.resize(1024, 640);
  QTRY_VERIFY(!shows(strip, "Running on:"));
  QVERIFY(shows(strip, "RTX 3070 Ti"));
  // However little room there is while it trains, no figure is cut.
  window.resize(1280, 800);
  start(fixture);
  QTRY_VERIFY(shows(strip, "Pretended card 0"));
  QTest::qWait(300);
  for (const QLabel* label : strip->findChildren<QLabel*>()) {
    if (!label->isVisible() || qobject_cast<const ElidedLabel*>(label) != nullptr) continue;
    // Figures change while it trains: their room follows at the next layout.
    QTRY_VERIFY2(label->width() >= label->minimumSizeHint().width(), qPrintable(label->text()));
    QTRY_VERIFY2(strip->rect().contains(label->geometry()), qPrintable(label->text()));
  }
  stop(fixture);
}

void TestDevicePicker::aSlowDriverDoesNotHoldTheWindowUp() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QTRY_COMPARE(box(window)->count(), 3);
  QSignalSpy sampled(&window.monitor(), &DeviceMonitor::sampled);
  m_cards->set({{"delay_ms", "1500"}});
  // The next reading is on its way by then.
  QTest::qWait(1200);
  QElapsedTimer clock;
  clock.start();
  qint64 last = 0;
  qint64 longest = 0;
  while (clock.elapsed() < 1800) {
    QTest::qWait(5);
    longest = std::max(longest, clock.elapsed() - last);
    last = clock.elapsed();
  }
  QVERIFY2(longest < 750, qPrintable(QString("%1 ms").arg(longest)));
  const auto before = sampled.size();
  m_cards->set({{"delay_ms", ""}});
  QTRY_VERIFY(sampled.size() > before + 1);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestDevicePicker)
#include "test_device_picker.moc"
