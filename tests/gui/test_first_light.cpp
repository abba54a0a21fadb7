// SPDX-License-Identifier: GPL-3.0-or-later
#include <QPushButton>
#include <QtTest/QtTest>

#include "gui/pages/chat_page.h"
#include "gui/pages/first_run_page.h"
#include "gui/pages/run_curves.h"
#include "gui/pages/run_page.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/conversation_view.h"

namespace athanor {

using State = RunController::State;

/// The first minutes with the program, on the real engine.
class TestFirstLight : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void firstPointsWithinAMinute();
  void finishedModelTalks();
  void nonFiniteLossOffersASlowerResume();
};

void TestFirstLight::firstPointsWithinAMinute() {
#ifdef ATHANOR_SANITIZED
  QSKIP("the whole demo is too long for an instrumented build");
#endif
  QElapsedTimer clock;
  clock.start();
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  QCOMPARE(window.page(), Page::firstRun);
  auto* demo = window.firstRunPage()->findChild<QPushButton*>("trainDemo");
  QVERIFY(demo != nullptr);
  QTest::mouseClick(demo, Qt::LeftButton);
  QCOMPARE(window.page(), Page::run);
  QTRY_VERIFY_WITH_TIMEOUT(window.runPage()->curves()->pointCount() >= 5, 60'000);
  QVERIFY2(clock.elapsed() < 60'000, "one click, but more than a minute");
  qInfo("5 points after one click and %.1f s", static_cast<double>(clock.elapsed()) / 1000);

  window.controller().stop();
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, 30'000);
  const auto runs = window.store().runs();
  QCOMPARE(runs.size(), std::size_t{1});
  QCOMPARE(runs.front().status, RunStatus::stopped);
  QCOMPARE(window.store().metrics(runs.front().id).size(),
           static_cast<std::size_t>(window.runPage()->curves()->pointCount()));
}

void TestFirstLight::finishedModelTalks() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.startRun(fixture.tinySpec(25));
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, 60'000);
  QVERIFY(window.controller().lastEnd().has_value());
  QCOMPARE(window.controller().lastEnd()->record.status, RunStatus::finished);
  QTRY_COMPARE_WITH_TIMEOUT(window.runPage()->curves()->pointCount(), qsizetype{25}, 5'000);

  auto* talk = window.runPage()->findChild<QPushButton*>("talk");
  QTRY_VERIFY_WITH_TIMEOUT(talk->isVisible(), 5'000);
  QTest::mouseClick(talk, Qt::LeftButton);
  QCOMPARE(window.page(), Page::chat);
  ChatPage* chat = window.chatPage();
  chat->ask("The old dog");
  const auto answered = [chat] {
    const auto& exchanges = chat->conversation().exchanges();
    return exchanges.size() == 1 && exchanges.front().answers.size() == 1;
  };
  QTRY_VERIFY_WITH_TIMEOUT(answered(), 20'000);
  const Answer answer = chat->conversation().exchanges().front().answers.front();
  QVERIFY(!answer.text.isEmpty());
  QCOMPARE(chat->view()->text(1), answer.text);
  QVERIFY2(answer.note.contains("tokens/s"), qPrintable(answer.note));

  const auto conversations = window.store().conversations();
  QCOMPARE(conversations.size(), std::size_t{1});
  const auto turns = window.store().turns(conversations.front().id);
  QCOMPARE(turns.size(), std::size_t{2});
  QCOMPARE(turns[0].text, std::string("The old dog"));
  QCOMPARE(turns[1].text, answer.text.toStdString());
}

void TestFirstLight::nonFiniteLossOffersASlowerResume() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.startRun(fixture.tinySpec(100'000));
  QTRY_VERIFY_WITH_TIMEOUT(window.controller().latest().value_or(MetricRow{}).step >= 3, 60'000);
  window.controller().stop();
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, 20'000);
  // From a good checkpoint on, with a rate at which no model stays finite.
  const RunRecord stopped = window.controller().lastEnd()->record;
  window.resumeRun(stopped.id, 1e12);
  QTRY_VERIFY_WITH_TIMEOUT(window.controller().lastEnd().has_value(), 60'000);
  QCOMPARE(window.controller().lastEnd()->problem_kind, ErrorKind::non_finite);
  const auto* banner = window.runPage()->findChild<Banner*>();
  const auto offersSlower = [banner] {
    const auto& actions = banner->content().actions;
    return !actions.isEmpty() && actions.front().id == "resume-slower";
  };
  QTRY_VERIFY_WITH_TIMEOUT(offersSlower(), 5'000);
  QVERIFY(banner->isVisible());
  QVERIFY2(banner->content().title.contains("no longer a number"),
           qPrintable(banner->content().title));
  const QString step = QString::number(stopped.step);
  QVERIFY2(QString(banner->content().actions.front().label).remove(',').contains(step),
           qPrintable(banner->content().actions.front().label));

  // The button acts: the run goes on from there with a tenth of the rate.
  const double rate = window.controller().session()->spec.train.learning_rate;
  auto* slower = banner->findChild<QPushButton*>();
  QVERIFY(slower != nullptr);
  QTest::mouseClick(slower, Qt::LeftButton);
  const auto resumed = [&window] { return window.controller().session().has_value(); };
  QTRY_VERIFY_WITH_TIMEOUT(resumed(), 20'000);
  QCOMPARE(window.controller().session()->first_step, stopped.step);
  QVERIFY(qFuzzyCompare(window.controller().session()->spec.train.learning_rate, rate / 10));
}

}  // namespace athanor

QTEST_MAIN(athanor::TestFirstLight)
#include "test_first_light.moc"
