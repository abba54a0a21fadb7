// SPDX-License-Identifier: GPL-3.0-or-later
#include <QLineEdit>
#include <QPushButton>
#include <QToolButton>
#include <QtTest/QtTest>

#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "tests/gui/window_fixture.h"

namespace athanor {

/// Undo and redo on the Plan page.
class TestPlanHistory : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void editsAreUndone();
  void undoKeepsNameAndText();

 private:
  static QPushButton* start(MainWindow& window) {
    return window.planPage()->findChild<QPushButton*>("start");
  }
};

void TestPlanHistory::editsAreUndone() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  auto* undo = window.planPage()->findChild<QToolButton*>("undo");
  auto* redo = window.planPage()->findChild<QToolButton*>("redo");
  QTRY_VERIFY(start(window)->isEnabled());
  QVERIFY(!undo->isEnabled() && !redo->isEnabled());
  NumberField* steps = window.planPage()->form()->findChild<NumberField*>("train.steps");
  const double before = steps->value();
  steps->setValue(77);
  QTRY_VERIFY(undo->isEnabled());
  window.planPage()->form()->setPreset(1);
  QTRY_VERIFY(steps->value() != 77);
  QTRY_VERIFY(start(window)->isEnabled());
  QTest::mouseClick(undo, Qt::LeftButton);
  QCOMPARE(steps->value(), 77.0);
  QTRY_VERIFY(start(window)->isEnabled());
  QTest::mouseClick(undo, Qt::LeftButton);
  QCOMPARE(steps->value(), before);
  QVERIFY(!undo->isEnabled());
  QTRY_VERIFY(start(window)->isEnabled());
  QTest::mouseClick(redo, Qt::LeftButton);
  QCOMPARE(steps->value(), 77.0);
  // A new edit takes the place of what was undone.
  steps->setValue(78);
  QTRY_VERIFY(!redo->isEnabled());
}

/// The text and a typed name come and go as well, and what was undone stays to be redone.
void TestPlanHistory::undoKeepsNameAndText() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  const PlanForm* form = window.planPage()->form();
  QTRY_VERIFY(start(window)->isEnabled());
  auto* name = form->findChild<QLineEdit*>("name");
  name->selectAll();
  QTest::keyClicks(name, "Mine");
  auto* undo = window.planPage()->findChild<QToolButton*>("undo");
  QTRY_VERIFY(undo->isEnabled());
  // At once: the change is undone though its plan is not made yet.
  window.planPage()->useData(fixture.textFile());
  QTest::mouseClick(undo, Qt::LeftButton);
  QVERIFY(form->spec().sources.empty());
  QCOMPARE(name->text(), QString("Mine"));
  QTest::qWait(200);
  QTest::mouseClick(window.planPage()->findChild<QToolButton*>("redo"), Qt::LeftButton);
  QCOMPARE(form->spec().sources.at(0).path, fixture.textFile().toStdString());
  QCOMPARE(name->text(), QString("Mine"));
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPlanHistory)
#include "test_plan_history.moc"
