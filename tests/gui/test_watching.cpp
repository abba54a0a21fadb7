// SPDX-License-Identifier: GPL-3.0-or-later
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest/QtTest>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "gui/pages/run_curves.h"
#include "gui/pages/run_page.h"
#include "gui/pages/runs_page.h"
#include "gui/run/run_feed.h"
#include "tests/gui/window_fixture.h"
#include "widgets/badge.h"
#include "widgets/loss_plot.h"

namespace athanor {

/// Runs that another connection writes, as a run of the command line does.
class TestWatching : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void appearsAndGrows();
  void startsAgainAtAnEarlierStep();
  void replacesOnlyOnce();
};

namespace {

std::vector<MetricRow> rows(std::int64_t first, std::int64_t last) {
  std::vector<MetricRow> made;
  for (std::int64_t step = first; step <= last; ++step) {
    const auto at = static_cast<double>(step);
    made.push_back({.step = step,
                    .tokens = step * 128,
                    .seconds = at / 100,
                    .loss = 5 - at / 100,
                    .learning_rate = 1e-3,
                    .gradient_norm = 1,
                    .tokens_per_second = 1000});
  }
  return made;
}

/// A run as another process would keep it: recorded as running, its folder locked.
class OtherProcess {
 public:
  explicit OtherProcess(const std::filesystem::path& home) : m_store(home) {
    m_record = {.name = "Elsewhere",
                .status = RunStatus::running,
                .created_ms = now_ms(),
                .updated_ms = now_ms(),
                .steps = 100,
                .spec = run_spec_to_json(RunSpec{}).dump()};
    m_record.id = m_store.create_run(m_record);
    std::filesystem::create_directories(m_store.run_folder(m_record.id));
    m_lock = std::make_unique<RunLock>(m_store.run_folder(m_record.id));
  }

  std::int64_t id() const { return m_record.id; }
  RunStore& store() { return m_store; }
  void train(std::int64_t first, std::int64_t last) {
    m_store.append(m_record.id, rows(first, last));
    m_record.step = last;
    m_store.update_run(m_record);
  }
  void end(RunStatus status) {
    m_record.status = status;
    m_store.update_run(m_record);
  }

 private:
  RunStore m_store;
  RunRecord m_record;
  std::unique_ptr<RunLock> m_lock;
};

}  // namespace

void TestWatching::appearsAndGrows() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.showPage(Page::runs);
  QCOMPARE(window.runsPage()->model()->rowCount(), 0);

  OtherProcess other(fixture.home());
  other.train(1, 10);
  QTRY_COMPARE_WITH_TIMEOUT(window.runsPage()->model()->rowCount(), 1, 5'000);

  window.openRun(other.id());
  const RunCurves* curves = window.runPage()->curves();
  QTRY_COMPARE_WITH_TIMEOUT(curves->pointCount(), qsizetype{10}, 5'000);
  auto* badge = window.runPage()->findChild<Badge*>();
  QTRY_COMPARE_WITH_TIMEOUT(badge->kind(), BadgeKind::running, 5'000);
  other.train(11, 40);
  QTRY_COMPARE_WITH_TIMEOUT(curves->pointCount(), qsizetype{40}, 5'000);
  const auto* following = window.runPage()->findChild<QPushButton*>("following");
  QVERIFY(following->isVisible());
  other.end(RunStatus::finished);
  QTRY_COMPARE_WITH_TIMEOUT(badge->kind(), BadgeKind::finished, 5'000);
  // Nothing more comes: the plot ends with the run, and there is a way back to the whole of it.
  auto* plot = curves->findChild<LossPlot*>();
  QVERIFY(!following->isVisible());
  QVERIFY(plot->xMaximum() >= 40 && plot->xMaximum() < 41);
  plot->setXRange(10, 20);
  QVERIFY(following->isVisible());
  plot->setFollowing(true);
  QVERIFY(!following->isVisible());
}

void TestWatching::startsAgainAtAnEarlierStep() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  OtherProcess other(fixture.home());
  other.train(1, 30);
  window.openRun(other.id());
  QTRY_COMPARE_WITH_TIMEOUT(window.runPage()->curves()->pointCount(), qsizetype{30}, 5'000);
  other.store().truncate_after(other.id(), 20);
  other.store().append(other.id(),
                       EventRow{.time_ms = now_ms(), .step = 20, .kind = "resumed", .text = {}});
  other.train(21, 25);
  QTRY_COMPARE_WITH_TIMEOUT(window.runPage()->curves()->pointCount(), qsizetype{25}, 5'000);
}

/// A run without rows is read again and again; were an answer of those taken for the whole run, it
/// would wipe what the channel brought while it was under way.
void TestWatching::replacesOnlyOnce() {
  const QTemporaryDir home;
  OtherProcess other(home.path().toStdString());
  RunController controller(home.path().toStdString());
  RunFeed feed(home.path().toStdString(), &controller);
  QSignalSpy replaced(&feed, &RunFeed::replaced);
  QSignalSpy grown(&feed, &RunFeed::grown);
  feed.open(other.id());
  QTRY_COMPARE_WITH_TIMEOUT(replaced.size(), 1, 5'000);
  feed.setVisible(true);
  QTRY_VERIFY_WITH_TIMEOUT(grown.size() + replaced.size() >= 3, 5'000);
  QCOMPARE(replaced.size(), 1);
}

}  // namespace athanor

QTEST_MAIN(athanor::TestWatching)
#include "test_watching.moc"
