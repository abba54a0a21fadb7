// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/screenshot_tour.h"

#include <QCoreApplication>
#include <QCursor>
#include <QDir>
#include <QElapsedTimer>
#include <QPixmap>
#include <QThread>

#include "gui/pages/chat_page.h"
#include "gui/pages/data_page.h"
#include "gui/pages/plan_estimate.h"
#include "gui/pages/plan_page.h"

namespace athanor {
namespace {

using State = RunController::State;

constexpr int kSettle_ms = 400;
constexpr int kPageTimeout_s = 30;
constexpr int kTrainingTimeout_s = 1800;

}  // namespace

ScreenshotTour::ScreenshotTour(MainWindow* window, const QString& folder)
    : m_window(window), m_folder(folder) {
  QDir().mkpath(folder);
}

bool ScreenshotTour::waitFor(const std::function<bool()>& condition, int timeout_s) {
  QElapsedTimer clock;
  clock.start();
  while (!condition()) {
    if (clock.elapsed() > timeout_s * 1000LL) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QThread::msleep(5);
  }
  return true;
}

void ScreenshotTour::settle() {
  QElapsedTimer clock;
  clock.start();
  waitFor([&clock] { return clock.elapsed() > kSettle_ms; }, kPageTimeout_s);
}

bool ScreenshotTour::take(const QString& name) {
  const AppearanceChoice before = m_window->settings().appearance();
  bool good = true;
  for (const auto& [choice, word] :
       {std::pair{AppearanceChoice::light, "light"}, std::pair{AppearanceChoice::dark, "dark"}}) {
    m_window->settings().setAppearance(choice);
    settle();
    good = m_window->grab().save(QString("%1/%2-%3.png").arg(m_folder, name, word)) && good;
  }
  m_window->settings().setAppearance(before);
  return good;
}

bool ScreenshotTour::trainAndTake() {
  RunController& controller = m_window->controller();
  m_window->startDemo();
  const auto farEnough = [&controller] {
    return controller.latest() &&
           controller.latest()->step * 10 > controller.session()->record.steps * 6;
  };
  if (!waitFor([&] { return farEnough() || !controller.busy(); }, kTrainingTimeout_s)) return false;
  controller.setPaused(true);
  if (!waitFor([&] { return controller.state() == State::paused; }, kPageTimeout_s)) return false;
  if (!take("run")) return false;
  controller.setPaused(false);
  if (!waitFor([&] { return !controller.busy(); }, kTrainingTimeout_s)) return false;
  settle();
  return controller.lastEnd() && controller.lastEnd()->record.problem.empty() &&
         take("run-finished");
}

bool ScreenshotTour::talkAndTake() {
  m_window->talkTo(*m_window->controller().runId(), -1);
  if (!take("chat-empty")) return false;
  ChatPage* chat = m_window->chatPage();
  chat->ask(QCoreApplication::translate("ScreenshotTour",
                                        "Once there was a little girl named Lily who lived"));
  const auto answered = [chat] {
    return !chat->conversation().exchanges().isEmpty() &&
           !chat->conversation().exchanges().back().answers.isEmpty();
  };
  return waitFor(answered, kPageTimeout_s) && take("chat");
}

bool ScreenshotTour::prepareData() {
  DataPage* page = m_window->dataPage();
  for (const auto& entry : std::filesystem::directory_iterator(m_window->store().home() / "data")) {
    if (entry.path().extension() == ".txt")
      page->addSources({QString::fromStdString(entry.path().string())});
  }
  page->prepare();
  return waitFor([page] { return page->report().has_value(); }, kTrainingTimeout_s);
}

bool ScreenshotTour::run() {
  // Nothing is to look as if it were pointed at.
  QCursor::setPos(m_window->mapToGlobal(QPoint(m_window->width() / 2, m_window->height() - 4)));
  m_window->showPage(Page::firstRun);
  bool good = take("first-run");
  m_window->showPage(Page::plan);
  waitFor([this] { return m_window->planPage()->estimate()->speedKnown(); }, kPageTimeout_s);
  good = take("plan") && good;
  if (!trainAndTake() || !talkAndTake()) return false;
  m_window->showPage(Page::runs);
  good = take("runs") && good;
  m_window->showPage(Page::data);
  good = prepareData() && good;
  good = take("data") && good;
  m_window->showPage(Page::settings);
  return take("settings") && good;
}

}  // namespace athanor
