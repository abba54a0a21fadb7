// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>

#include "engine/planner/buffer_table.h"
#include "gui/pages/alive_list.h"
#include "gui/pages/memory_timeline.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_form.h"
#include "gui/pages/plan_page.h"
#include "tests/gui/window_fixture.h"
#include "widgets/format.h"
#include "widgets/plot_area.h"

namespace athanor {

/// Memory through one step, on the Plan page.
class TestPlanTimeline : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void thePeakIsNamed();
  void thePointerTellsWhatIsAlive();
  void anotherPlanTakesItsPlace();

 private:
  static MemoryTimeline* timeline(MainWindow& window) {
    return window.planPage()->findChild<MemoryTimeline*>();
  }
  static std::int64_t sumOf(const AliveList& list) {
    std::int64_t sum = 0;
    for (const AliveRow& row : list.rows())
      sum += row.bytes;
    return sum;
  }
};

void TestPlanTimeline::thePeakIsNamed() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  const RunSpec spec = window.planPage()->form()->spec();
  const TrainPlan plan = plan_training(spec.model, spec.train, BackendTraits());
  const AliveList* alive = timeline(window)->alive();
  QTRY_COMPARE(alive->heading(), "At the peak: " + formatBytes(plan.memory.peak_bytes));
  QCOMPARE(sumOf(*alive), plan.memory.peak_bytes);
  const auto* area = timeline(window)->findChild<PlotArea*>();
  const QString peak = QString("peak %1, backward of layer %2")
                           .arg(formatBytes(plan.memory.peak_bytes))
                           .arg(layer_at(plan, plan.memory.peak_moment) + 1);
  QCOMPARE(area->accessibleDescription(), peak);
  // The list is read aloud, and whole in its tooltip.
  QVERIFY(alive->accessibleDescription().contains("MLP product, 4 layers"));
  QVERIFY(alive->toolTip().contains("MLP product, 4 layers"));
}

void TestPlanTimeline::thePointerTellsWhatIsAlive() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  const RunSpec spec = window.planPage()->form()->spec();
  const TrainPlan plan = plan_training(spec.model, spec.train, BackendTraits());
  AliveList* alive = timeline(window)->alive();
  QTRY_VERIFY(!alive->rows().isEmpty());
  // The answer that comes when the speed is known shows the peak once more.
  QTRY_VERIFY(window.planPage()->estimate()->speedKnown());
  auto* area = timeline(window)->findChild<PlotArea*>();
  const std::vector<MemoryMoment> course = memory_timeline(plan);
  for (const std::size_t index : {std::size_t{12}, course.size() / 2, course.size() - 20}) {
    const double x = area->xAxis->coordToPixel(static_cast<double>(course[index].moment));
    emit area->crosshairMoved(area->xAxis->pixelToCoord(x));
    QCOMPARE(sumOf(*alive), course[index].bytes);
    QVERIFY2(alive->heading().startsWith(formatBytes(course[index].bytes) + ", "),
             qPrintable(alive->heading()));
  }
  QTest::mouseMove(area, area->axisRect()->rect().center());
  QTRY_VERIFY(!alive->heading().startsWith("At the peak"));
  // Far outside the step there is nothing else to tell.
  emit area->crosshairMoved(-1e9);
  QCOMPARE(sumOf(*alive), course.front().bytes);
  emit area->crosshairMoved(std::nullopt);
  QVERIFY(alive->heading().startsWith("At the peak"));
  QCOMPARE(sumOf(*alive), plan.memory.peak_bytes);
}

void TestPlanTimeline::anotherPlanTakesItsPlace() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  pretendMeasured(fixture.home());
  window.showPage(Page::plan);
  const AliveList* alive = timeline(window)->alive();
  QTRY_VERIFY(!alive->rows().isEmpty());
  const RunSpec tiny = fixture.tinySpec(50);
  window.planPage()->form()->setSpec(tiny);
  const std::int64_t peak =
      plan_training(tiny.model, tiny.train, BackendTraits()).memory.peak_bytes;
  QTRY_COMPARE(sumOf(*alive), peak);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestPlanTimeline)
#include "test_plan_timeline.moc"
