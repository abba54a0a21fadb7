// SPDX-License-Identifier: GPL-3.0-or-later
#include <QLabel>
#include <QPushButton>
#include <QRegularExpression>
#include <QtTest/QtTest>

#include "gui/pages/chat_page.h"
#include "gui/pages/first_run_page.h"
#include "gui/pages/run_curves.h"
#include "gui/pages/run_page.h"
#include "tests/gui/window_fixture.h"
#include "widgets/banner.h"
#include "widgets/conversation_view.h"
#include "widgets/segmented.h"

namespace athanor {

using State = RunController::State;

/// The first minutes with the program, on the real engine.
class TestFirstLight : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { prepareApplication(); }
  void firstPointsWithinAMinute();
  void finishedModelTalks();
  void fewerBitsAnswerWithLessMemory();
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

void TestFirstLight::fewerBitsAnswerWithLessMemory() {
  WindowFixture fixture;
  MainWindow& window = fixture.window();
  window.startRun(fixture.tinySpec(5));
  QTRY_COMPARE_WITH_TIMEOUT(window.controller().state(), State::ended, 60'000);
  window.showPage(Page::chat);
  ChatPage* chat = window.chatPage();
  auto* weights = chat->findChild<Segmented*>("weights");
  const auto* memory = chat->findChild<QLabel*>("weightsMemory");
  QVERIFY(weights != nullptr && weights->isVisible() && memory->isVisible());
  QCOMPARE(weights->accessibleName(), QString("Weights"));

  // KiB that the model takes, as said beside the choice, by what answered.
  std::vector<double> sizes;
  const auto ask = [&](const QString& noted) {
    const qsizetype before = chat->conversation().exchanges().size();
    chat->ask("The old dog");
    const auto answered = [&] {
      const auto& exchanges = chat->conversation().exchanges();
      return exchanges.size() == before + 1 && exchanges.back().answers.size() == 1;
    };
    QTRY_VERIFY_WITH_TIMEOUT(answered(), 20'000);
    const QString note = chat->conversation().exchanges().back().answers.front().note;
    QVERIFY2(note.contains("tokens/s"), qPrintable(note));
    QVERIFY2(note.contains(noted), qPrintable(note));
    QCOMPARE(note.contains("weights in"), !noted.isEmpty());
    const QRegularExpression size("takes ([0-9.]+) ([KM])iB");
    const QRegularExpressionMatch match = size.match(memory->text());
    QVERIFY2(match.hasMatch(), qPrintable(memory->text()));
    sizes.push_back(match.captured(1).toDouble() * (match.captured(2) == "M" ? 1024 : 1));
  };
  ask({});
  weights->setFocus();
  QTest::keyClick(weights, Qt::Key_Right);
  QCOMPARE(weights->current(), 1);
  QVERIFY(!memory->text().contains("takes"));
  ask("weights in 8 bit");
  const QList<QAbstractButton*> parts = weights->findChildren<QAbstractButton*>();
  QTest::mouseClick(parts.back(), Qt::LeftButton);
  QCOMPARE(weights->current(), 2);
  ask("weights in 4 bit");
  QVERIFY(sizes[1] < sizes[0]);
  QVERIFY(sizes[2] < sizes[1]);
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
  window.resumeRun(stopped.id, {.learning_rate_scale = 1e12, .step = {}});
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
