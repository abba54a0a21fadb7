// SPDX-License-Identifier: GPL-3.0-or-later
#include <QMessageBox>
#include <QPushButton>
#include <QtTest/QtTest>

#include "tests/gui/window_fixture.h"

namespace athanor {

using State = RunController::State;

/// Closing the window never loses what was trained.
class TestClosing : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void keepGoing();
  void stopAndSave();
  void tellsOfPreparation();
  void cancelsPreparation();
  void resumesAfterwards();
  void remembersGeometry();

 private:
  static void answer(MainWindow& window, const char* button);
  static void startAndReachSteps(WindowFixture& fixture);
};

void TestClosing::answer(MainWindow& window, const char* button) {
  auto* question = window.findChild<QMessageBox*>();
  QVERIFY(question != nullptr);
  QTRY_VERIFY(question->isVisible());
  auto* choice = question->findChild<QPushButton*>(button);
  QVERIFY(choice != nullptr);
  QTest::mouseClick(choice, Qt::LeftButton);
}

void TestClosing::startAndReachSteps(WindowFixture& fixture) {
  fixture.window().startRun(fixture.tinySpec(1'000'000));
  QTRY_VERIFY_WITH_TIMEOUT(fixture.window().controller().latest().value_or(MetricRow{}).step >= 5,
                           60'000);
}

void TestClosing::keepGoing() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  startAndReachSteps(fixture);
  QVERIFY(!window.close());
  answer(window, "keepGoing");
  QTRY_VERIFY(window.findChild<QMessageBox*>() == nullptr);
  QVERIFY(window.isVisible());
  QCOMPARE(window.controller().state(), State::running);
  const std::int64_t step = window.controller().latest()->step;
  QTRY_VERIFY_WITH_TIMEOUT(window.controller().latest()->step > step, 10'000);
}

void TestClosing::stopAndSave() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  startAndReachSteps(fixture);
  QVERIFY(!window.close());
  answer(window, "stopAndSave");
  QTRY_VERIFY_WITH_TIMEOUT(!window.isVisible(), 20'000);
  const RunRecord record = window.store().runs().front();
  QCOMPARE(record.status, RunStatus::stopped);
  const auto checkpoints = window.store().checkpoints(record.id);
  QVERIFY(!checkpoints.empty());
  QCOMPARE(checkpoints.back().step, record.step);
  QVERIFY(record.step >= 5);
}

void TestClosing::tellsOfPreparation() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.startRun(fixture.tinySpec(1'000'000));
  QVERIFY(!window.close());
  const auto* question = window.findChild<QMessageBox*>();
  QVERIFY2(question->text().contains("still being prepared"), qPrintable(question->text()));
  // It keeps to the truth when training begins meanwhile.
  QTRY_VERIFY_WITH_TIMEOUT(question->text().contains("Closing ends the training"), 60'000);
  answer(window, "keepGoing");
  QTRY_VERIFY(window.findChild<QMessageBox*>() == nullptr);
}

void TestClosing::cancelsPreparation() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.startRun(fixture.tinySpec(1'000'000));
  window.controller().stop();
  QTRY_VERIFY_WITH_TIMEOUT(!window.controller().busy(), 20'000);
  QVERIFY(window.close());
}

void TestClosing::resumesAfterwards() {
  WindowFixture fixture;
  fixture.window().startRun(fixture.tinySpec(400));
  QTRY_VERIFY_WITH_TIMEOUT(fixture.window().controller().latest().value_or(MetricRow{}).step >= 3,
                           60'000);
  fixture.window().controller().stop();
  QTRY_VERIFY_WITH_TIMEOUT(!fixture.window().controller().busy(), 20'000);
  const RunRecord stopped = fixture.window().store().runs().front();
  if (stopped.status == RunStatus::finished) QSKIP("this machine was too fast to be stopped");
  fixture.restart();
  MainWindow& window = fixture.window();
  QCOMPARE(window.page(), Page::run);
  window.resumeRun(stopped.id, {});
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, 60'000);
  const RunRecord finished = *window.store().run(stopped.id);
  QCOMPARE(finished.status, RunStatus::finished);
  QCOMPARE(finished.step, std::int64_t{400});
  const auto metrics = window.store().metrics(stopped.id);
  QCOMPARE(metrics.size(), std::size_t{400});
  for (std::size_t i = 0; i < metrics.size(); ++i)
    QCOMPARE(metrics[i].step, static_cast<std::int64_t>(i) + 1);
}

void TestClosing::remembersGeometry() {
  WindowFixture fixture;
  fixture.window().resize(1100, 700);
  fixture.restart();
  QCOMPARE(fixture.window().size(), QSize(1100, 700));
}

}  // namespace athanor

QTEST_MAIN(athanor::TestClosing)
#include "test_closing.moc"
