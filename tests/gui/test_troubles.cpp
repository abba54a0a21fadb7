// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest/QtTest>
#include <algorithm>
#include <filesystem>
#include <optional>

#include "engine/base/file.h"
#include "gui/pages/run_news.h"
#include "gui/pages/run_page.h"
#include "tests/gui/window_fixture.h"
#include "tests/support/file_size_limit.h"
#include "widgets/banner.h"

namespace athanor {

using State = RunController::State;

/// What a person reads when something outside the program went wrong.
class TestTroubles : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void damagedCheckpointIsToldAfterResume();
  void damagedRunListIsTold();
  void fullDiskIsToldWhereTheRunIs();
  void lossThatIsNoNumberIsRecognised();

 private:
  static std::int64_t step(MainWindow& window) {
    return window.controller().latest().value_or(MetricRow{}).step;
  }
  static const BannerContent& bannerOfRun(MainWindow& window) {
    return window.runPage()->findChild<Banner*>()->content();
  }
};

void TestTroubles::damagedCheckpointIsToldAfterResume() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  RunSpec spec = fixture.tinySpec(1'000'000);
  spec.train.checkpoint_interval = 5;
  window.startRun(spec);
  QTRY_VERIFY_WITH_TIMEOUT(step(window) >= 12, 60'000);
  window.controller().stop();
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, 20'000);
  const RunRecord stopped = window.controller().lastEnd()->record;
  const auto newest = window.store().checkpoints(stopped.id).back();
  std::filesystem::resize_file(std::filesystem::path(newest.path) / "weights.safetensors", 50);

  window.resumeRun(stopped.id, {});
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::running, 60'000);
  const std::int64_t first = window.controller().session()->first_step;
  QVERIFY(first < stopped.step);
  QTRY_VERIFY_WITH_TIMEOUT(step(window) > first, 20'000);
  // Long enough for the store to be read again.
  QTest::qWait(1500);
  const auto* banner = window.runPage()->findChild<Banner*>();
  QVERIFY(banner->isVisible());
  QCOMPARE(banner->content().kind, BannerKind::warning);
  QCOMPARE(banner->content().title, QString("Resumed from an older checkpoint"));
  QVERIFY2(banner->content().text.contains("weights.safetensors was cut off or changed"),
           qPrintable(banner->content().text));
}

void TestTroubles::damagedRunListIsTold() {
  const QTemporaryDir folder;
  const std::filesystem::path home = folder.path().toStdString();
  const std::filesystem::path file = home / "athanor.db";
  write_file_atomically(file, std::string(5000, 'x'));
  MainWindow window(home);
  const auto banners = window.findChildren<Banner*>();
  const auto told = std::ranges::find_if(banners, [](const Banner* banner) {
    return banner->content().title == "The run list was damaged and has been made anew";
  });
  QVERIFY(told != banners.end());
  const BannerContent& content = (*told)->content();
  QVERIFY2(content.text.contains(QString::fromStdString(file.string()) + ".damaged-"),
           qPrintable(content.text));
  QVERIFY(!content.details.isEmpty());
  QVERIFY(!content.text.contains(content.details));
}

void TestTroubles::fullDiskIsToldWhereTheRunIs() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  RunSpec spec = fixture.tinySpec(1'000'000);
  spec.train.checkpoint_interval = 5;
  window.startRun(spec);
  QTRY_VERIFY_WITH_TIMEOUT(step(window) >= 12, 60'000);
  std::optional<FileSizeLimit> full(4096);
  QTRY_VERIFY_WITH_TIMEOUT(!window.controller().busy(), 20'000);
  QCOMPARE(window.controller().state(), State::ended);
  QCOMPARE(window.page(), Page::run);
  QTRY_COMPARE_WITH_TIMEOUT(bannerOfRun(window).kind, BannerKind::danger, 5'000);
  // The store still has the run as running; reading it again must not take the banner away.
  QTest::qWait(1500);
  full.reset();
  QVERIFY(window.runPage()->findChild<Banner*>()->isVisible());
  QVERIFY2(bannerOfRun(window).text.contains(" Then resume."),
           qPrintable(bannerOfRun(window).text));
  QVERIFY(!bannerOfRun(window).actions.isEmpty());
  QCOMPARE(bannerOfRun(window).actions.front().id, QString(kResumeAction));
}

void TestTroubles::lossThatIsNoNumberIsRecognised() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  RunSpec spec = fixture.tinySpec(100);
  spec.train.learning_rate = 1e9;
  window.startRun(spec);
  QTRY_VERIFY_WITH_TIMEOUT(window.controller().lastEnd().has_value(), 60'000);
  const RunRecord record = window.controller().lastEnd()->record;
  QVERIFY2(saysNonFinite(record), record.problem.c_str());
}

}  // namespace athanor

QTEST_MAIN(athanor::TestTroubles)
#include "test_troubles.moc"
