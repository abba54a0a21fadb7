// SPDX-License-Identifier: GPL-3.0-or-later
#include <QLabel>
#include <QPushButton>
#include <QtTest/QtTest>

#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "gui/pages/run_details.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/format.h"

namespace athanor {

/// A rehearsal is kept with the run that is then started with the same settings.
class TestPlanRehearsal : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void isKeptWithTheRun();
  void ofOtherSettingsIsNot_data();
  void ofOtherSettingsIsNot();

 private:
  static void rehearse(WindowFixture& fixture) {
    MainWindow& window = fixture.window();
    pretendMeasured(fixture.home());
    window.showPage(Page::plan);
    window.planPage()->form()->setSpec(fixture.tinySpec(5));
    auto* button = window.planPage()->findChild<QPushButton*>("rehearse");
    QTRY_VERIFY_WITH_TIMEOUT(button->isEnabled(), 10'000);
    // So that the prediction is there as well.
    QTest::qWait(300);
    QTest::mouseClick(button, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window.planPage()->findChild<Banner*>()->isVisible(), 30'000);
  }
  static void start(MainWindow& window) {
    auto* button = window.planPage()->findChild<QPushButton*>("start");
    QTRY_VERIFY_WITH_TIMEOUT(button->isEnabled(), 10'000);
    QTest::mouseClick(button, Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(window.controller().lastEnd().has_value(), 30'000);
  }
};

void TestPlanRehearsal::isKeptWithTheRun() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  rehearse(fixture);
  start(window);
  const std::int64_t id = window.controller().lastEnd()->record.id;
  const std::optional<RehearsalRow> kept = window.store().rehearsal(id);
  QVERIFY(kept.has_value());
  QCOMPARE(kept->planned_bytes, window.controller().lastEnd()->record.planned_bytes);
  QCOMPARE(kept->taken_bytes, kept->planned_bytes);
  QVERIFY(kept->tokens_per_second > 0 && kept->step_seconds > 0);
  QVERIFY(kept->predicted_tokens_per_second.has_value());
  // And shown among the run's details.
  window.showPage(Page::runs);
  const auto* details = window.findChild<RunDetails*>();
  const QString bytes = formatBytes(kept->planned_bytes);
  const QString wanted = QString("%1 planned, %1 taken, ").arg(bytes);
  QTRY_VERIFY([&] {
    for (const QLabel* label : details->findChildren<QLabel*>()) {
      if (label->text().startsWith(wanted) && label->text().contains("tokens/s predicted, ")) {
        return true;
      }
    }
    return false;
  }());
}

void TestPlanRehearsal::ofOtherSettingsIsNot_data() {
  QTest::addColumn<QString>("field");
  QTest::addColumn<double>("value");
  QTest::addColumn<bool>("kept");
  QTest::newRow("another batch") << "train.micro_batch" << 2.0 << false;
  QTest::newRow("another width") << "model.ffn" << 32.0 << false;
  QTest::newRow("changed and back") << "train.micro_batch" << 4.0 << true;
}

void TestPlanRehearsal::ofOtherSettingsIsNot() {
  QFETCH(const QString, field);
  QFETCH(const double, value);
  QFETCH(const bool, kept);
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  rehearse(fixture);
  auto* input = window.planPage()->form()->findChild<NumberField*>(field);
  if (kept) input->setValue(value + 1);
  input->setValue(value);
  start(window);
  QCOMPARE(window.store().rehearsal(window.controller().lastEnd()->record.id).has_value(), kept);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPlanRehearsal)
#include "test_plan_rehearsal.moc"
