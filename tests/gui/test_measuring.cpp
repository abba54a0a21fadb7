// SPDX-License-Identifier: GPL-3.0-or-later
#include <QPushButton>
#include <QtTest/QtTest>

#include "engine/backend/registry.h"
#include "engine/base/file.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_page.h"
#include "tests/gui/window_fixture.h"

namespace athanor {
namespace {

#ifdef ATHANOR_SANITIZED
constexpr int kPatience_ms = 300'000;
// The kernels are fifty times slower then, and a measurement is nothing but them.
#define ATHANOR_NEEDS_MANY_MEASUREMENTS() QSKIP("a measurement takes a minute when sanitized")
#else
constexpr int kPatience_ms = 30'000;
#define ATHANOR_NEEDS_MANY_MEASUREMENTS() static_cast<void>(0)
#endif

}  // namespace

/// The machine's measurement: stopped, asked for again, or damaged where it is kept.
class TestMeasuring : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void aStoppedOneIsMadeAgainWhenAsked();
  void aStoppedOneStaysStopped();
  void anotherNumberOfThreadsIsMeasuredNext();
  void aDamagedFileIsMeasuredAnew_data();
  void aDamagedFileIsMeasuredAnew();
  void aFolderInItsPlaceDoesNotHoldThePageUp();
};

void TestMeasuring::aStoppedOneIsMadeAgainWhenAsked() {
  const QTemporaryDir home;
  Estimator estimator(home.path().toStdString());
  std::optional<Throughput> speed;
  connect(&estimator, &Estimator::answered, this,
          [&speed](const Estimate& estimate) { speed = estimate.speed; });
  estimator.ask(presets().front().spec);
  estimator.measure({.threads = 1});
  QTest::qWait(100);
  estimator.stopMeasuring();
  // It still winds down.
  estimator.measure({.threads = 1});
  QTRY_VERIFY_WITH_TIMEOUT(speed.has_value(), kPatience_ms);
  QVERIFY(speed->tokens_per_second > 0);
}

void TestMeasuring::aStoppedOneStaysStopped() {
  const QTemporaryDir home;
  Estimator estimator(home.path().toStdString());
  estimator.measure({.threads = 1});
  estimator.measure({.threads = 1});
  QTest::qWait(100);
  estimator.stopMeasuring();
  QTest::qWait(1000);
  QVERIFY(!QFile::exists(home.filePath("device-speed.json")));
}

void TestMeasuring::anotherNumberOfThreadsIsMeasuredNext() {
  ATHANOR_NEEDS_MANY_MEASUREMENTS();
  const QTemporaryDir home;
  Estimator estimator(home.path().toStdString());
  estimator.measure({.threads = 1});
  estimator.measure({.threads = 2});
  const DeviceInfo two = make_backend({.threads = 2})->device();
  QTRY_VERIFY_WITH_TIMEOUT(load_device_speed(home.path().toStdString(), two).has_value(),
                           kPatience_ms);
}

void TestMeasuring::aDamagedFileIsMeasuredAnew_data() {
  QTest::addColumn<QByteArray>("content");
  QTest::newRow("cut off") << QByteArray("{\"format\": 2, \"device\": \"A pro");
  QTest::newRow("empty") << QByteArray();
  QTest::newRow("other JSON") << QByteArray("[1, 2, 3]");
}

void TestMeasuring::aDamagedFileIsMeasuredAnew() {
  ATHANOR_NEEDS_MANY_MEASUREMENTS();
  QFETCH(const QByteArray, content);
  WindowFixture fixture;
  const std::filesystem::path file = fixture.home() / "device-speed.json";
  write_file_atomically(file, content.toStdString());
  fixture.window().showPage(Page::plan);
  const PlanEstimate* estimate = fixture.window().planPage()->estimate();
  QTRY_VERIFY_WITH_TIMEOUT(estimate->speedKnown(), kPatience_ms);
  QVERIFY(read_small_file(file).size() > 1000);
}

void TestMeasuring::aFolderInItsPlaceDoesNotHoldThePageUp() {
  ATHANOR_NEEDS_MANY_MEASUREMENTS();
  WindowFixture fixture;
  create_folders(fixture.home() / "device-speed.json");
  fixture.window().showPage(Page::plan);
  const PlanPage* page = fixture.window().planPage();
  QTRY_VERIFY_WITH_TIMEOUT(page->estimate()->speedKnown(), kPatience_ms);
  QTRY_VERIFY(page->findChild<QPushButton*>("start")->isEnabled());
}

}  // namespace athanor

QTEST_MAIN(athanor::TestMeasuring)
#include "test_measuring.moc"
