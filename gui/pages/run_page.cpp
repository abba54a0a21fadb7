// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_page.h"

#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/device_choice.h"
#include "gui/models/run_status.h"
#include "gui/pages/device_panel.h"
#include "gui/pages/page_header.h"
#include "gui/pages/preparation_panel.h"
#include "gui/pages/run_curves.h"
#include "gui/pages/run_events.h"
#include "gui/pages/run_news.h"
#include "gui/pages/run_side.h"
#include "gui/pages/side_by_side.h"
#include "gui/run/device_monitor.h"
#include "widgets/badge.h"
#include "widgets/banner.h"
#include "widgets/buttons.h"
#include "widgets/empty_state.h"
#include "widgets/format.h"
#include "widgets/icons.h"

namespace athanor {
namespace {

using State = RunController::State;

constexpr int kSide_px = 388;

BadgeKind badgeOf(State state) {
  switch (state) {
    case State::preparing:
      return BadgeKind::preparing;
    case State::paused:
      return BadgeKind::paused;
    default:
      return BadgeKind::running;
  }
}

}  // namespace

RunPage::RunPage(const std::filesystem::path& home, RunController* controller, DeviceChoice* choice,
                 DeviceMonitor* monitor, QWidget* parent)
    : QWidget(parent),
      m_controller(controller),
      m_choice(choice),
      m_header(new PageHeader(tr("Run"))),
      m_badge(new Badge),
      m_banner(new Banner),
      m_stack(new QStackedWidget),
      m_empty(new EmptyState("run", tr("No run is open. Plan one, or open a past one under Runs."),
                             tr("Plan a run"))),
      m_preparation(new PreparationPanel),
      m_curves(new RunCurves),
      m_events(new RunEvents),
      m_side(new RunSide),
      m_feed(home, controller) {
  m_header->addBesideTitle(m_badge);
  makeActions();
  m_content = makeContent();
  m_stack->addWidget(m_empty);
  m_stack->addWidget(m_preparation);
  m_stack->addWidget(m_content);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(24, 20, 24, 16);
  layout->setSpacing(12);
  layout->addWidget(m_header);
  layout->addWidget(m_banner);
  layout->addWidget(m_stack, 1);
  connect(m_empty, &EmptyState::activated, this, &RunPage::planRequested);
  connect(m_banner, &Banner::actionTriggered, this, &RunPage::act);
  connect(m_curves, &RunCurves::checkpointClicked, this, [this](qint64 step) {
    if (m_record) emit talkRequested(m_record->id, step);
  });
  connect(m_curves, &RunCurves::exported, this, [this](const QString& problem) {
    if (!problem.isEmpty()) showProblem(tr("The curve was not exported"), problem);
  });
  connectFeed();
  connectController();
  connect(monitor, &DeviceMonitor::sampled, m_side->device(), &DevicePanel::showSample);
  updateView();
}

void RunPage::makeActions() {
  m_talk = plainButton(tr("Talk to it"), "chat");
  m_talk->setObjectName("talk");
  m_resume = plainButton(tr("Resume"), "play");
  m_pause = plainButton(tr("Pause"), "pause");
  m_save = plainButton(tr("Save now"), "save");
  m_stop = plainButton(tr("Stop and save"), "stop");
  for (QPushButton* button : {m_pause, m_save, m_stop, m_resume, m_talk})
    m_header->addAction(button);
  connect(m_talk, &QPushButton::clicked, this, [this] { act(kTalkAction); });
  connect(m_resume, &QPushButton::clicked, this, [this] { act(kResumeAction); });
  connect(m_pause, &QPushButton::clicked, this,
          [this] { m_controller->setPaused(m_controller->state() == State::running); });
  connect(m_save, &QPushButton::clicked, m_controller, &RunController::saveNow);
  connect(m_stop, &QPushButton::clicked, m_controller, &RunController::stop);
}

QWidget* RunPage::makeContent() {
  auto* left = new QWidget;
  auto* leftLayout = new QVBoxLayout(left);
  leftLayout->setContentsMargins(0, 0, 0, 0);
  leftLayout->setSpacing(12);
  leftLayout->addWidget(m_curves, 1);
  leftLayout->addWidget(m_events);
  auto* content = new QWidget;
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(m_curves->tools());
  layout->addWidget(new SideBySide(left, m_side, m_side, kSide_px, 12), 1);
  return content;
}

void RunPage::connectFeed() {
  connect(&m_feed, &RunFeed::replaced, this, [this](const RunHistory& history) {
    m_curves->replace(history);
    takeRecord(history);
  });
  connect(&m_feed, &RunFeed::grown, this, [this](const RunHistory& news) {
    m_curves->append(news);
    takeRecord(news);
  });
  connect(&m_feed, &RunFeed::rowsGrown, this,
          [this](const RunRows& rows) { m_curves->append(rows); });
  connect(&m_feed, &RunFeed::failed, this,
          [this](const QString& reason) { showProblem(tr("The run could not be read"), reason); });
}

void RunPage::connectController() {
  connect(m_controller, &RunController::stateChanged, this, [this](State state) {
    if (state == State::preparing) {
      m_banner->hide();
      m_preparation->reset();
    }
    updateView();
  });
  connect(m_controller, &RunController::stageChanged, m_preparation, &PreparationPanel::showStage);
  connect(m_preparation, &PreparationPanel::cancelRequested, m_controller, &RunController::stop);
  connect(m_controller, &RunController::started, this,
          [this](const SessionStart& start) { openRun(start.record.id); });
  connect(m_controller, &RunController::noticed, this,
          [this](const Notice& notice) { m_banner->showMessage(bannerOf(notice)); });
  connect(m_controller, &RunController::ended, this, [this](const SessionEnd& end) {
    // A run that ended before its first step is not open yet.
    if (!m_record && !m_controller->session()) openRun(end.record.id);
    if (m_record && m_record->id == end.record.id) {
      m_record = end.record;
      showNews();
    }
    updateView();
  });
}

void RunPage::openRun(qint64 runId) {
  m_record.reset();
  m_checkpoints.clear();
  m_newsShown.clear();
  m_curves->clear();
  m_banner->hide();
  if (m_controller->runId() == runId) m_record = m_controller->session()->record;
  m_feed.open(runId);
  updateView();
}

void RunPage::closeRun() {
  m_feed.close();
  m_record.reset();
  m_banner->hide();
  updateView();
}

void RunPage::showProblem(const QString& title, const QString& text) {
  m_banner->showMessage(
      {.kind = BannerKind::danger, .title = title, .text = text, .details = {}, .actions = {}});
}

void RunPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  m_feed.setVisible(true);
}

void RunPage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  m_feed.setVisible(false);
}

bool RunPage::isOwn() const {
  return m_controller->busy() && m_record && m_controller->runId() == m_record->id;
}

void RunPage::takeRecord(const RunHistory& history) {
  m_record = history.record;
  m_checkpoints = history.checkpoints;
  m_events->showAll(history.events, history.checkpoints);
  showDevice();
  m_side->showRecord(history.record);
  showNews();
  updateView();
}

void RunPage::showDevice() {
  const bool live = isOwn();
  DevicePanel* device = m_side->device();
  if (m_controller->runId() == m_record->id) {
    device->showSession(*m_controller->session(), live);
  } else {
    device->setLive(false);
  }
  const bool onProcessor = live && m_controller->session()->device_id == "cpu";
  device->showUnusedCard(onProcessor ? m_choice->unusedCard() : QString());
}

std::optional<std::int64_t> RunPage::newestCheckpoint() const {
  if (m_checkpoints.empty()) return std::nullopt;
  return std::max_element(
             m_checkpoints.begin(), m_checkpoints.end(),
             [](const CheckpointRow& a, const CheckpointRow& b) { return a.step < b.step; })
      ->step;
}

void RunPage::showNews() {
  if (!m_record) return;
  if (isOwn() || isLive(m_record->status)) {
    // What was said of its end is over once it goes on.
    if (!m_newsShown.isEmpty()) m_banner->hide();
    m_newsShown.clear();
    return;
  }
  const bool own = m_controller->lastEnd() && m_controller->runId() == m_record->id;
  const bool nonFinite = own && !m_record->problem.empty()
                             ? m_controller->lastEnd()->problem_kind == ErrorKind::non_finite
                             : saysNonFinite(*m_record);
  const std::optional<BannerContent> news = runNews(*m_record, nonFinite, newestCheckpoint());
  // The checkpoints may be known only after the end is; then the buttons are others.
  const QString key =
      news ? news->title + news->text + QString::number(newestCheckpoint().value_or(-1))
           : QString();
  if (key == m_newsShown) return;
  m_newsShown = key;
  if (news) m_banner->showMessage(*news);
}

void RunPage::updateView() {
  const State state = m_controller->state();
  const bool preparing =
      state == State::preparing || (state == State::stopping && !m_controller->session());
  const bool own = isOwn();
  m_badge->setVisible(preparing || m_record);
  m_curves->setLive(own || !m_record || isLive(m_record->status));
  if (preparing) {
    m_header->setTitle(m_record         ? QString::fromStdString(m_record->name)
                       : m_feed.runId() ? tr("Run")
                                        : tr("New run"));
    m_badge->setKind(BadgeKind::preparing);
    m_stack->setCurrentWidget(m_preparation);
  } else if (m_record) {
    m_header->setTitle(QString::fromStdString(m_record->name));
    m_badge->setKind(own ? badgeOf(state) : athanor::badgeOf(*m_record));
    m_stack->setCurrentWidget(m_content);
  } else {
    m_header->setTitle(tr("Run"));
    m_stack->setCurrentWidget(m_empty);
  }
  updateActions(own);
}

void RunPage::updateActions(bool own) {
  const State state = m_controller->state();
  const bool steerable = state == State::running || state == State::paused;
  for (QPushButton* button : {m_pause, m_save, m_stop}) {
    button->setVisible(own);
    button->setEnabled(steerable);
  }
  const bool paused = state == State::paused;
  m_pause->setText(paused ? tr("Continue") : tr("Pause"));
  m_pause->setAccessibleName(m_pause->text());
  m_pause->setIcon(icon(paused ? "play" : "pause"));
  m_stop->setText(state == State::stopping ? tr("Saving…") : tr("Stop and save"));
  const bool past = m_record && !own && !isLive(m_record->status);
  m_talk->setVisible(past && newestCheckpoint() && m_record->status == RunStatus::finished);
  m_resume->setVisible(past && newestCheckpoint() && isResumable(*m_record));
  m_resume->setEnabled(!m_controller->busy());
  m_resume->setToolTip(m_controller->busy() ? tr("Another run is being trained") : QString());
}

void RunPage::act(const QString& action) {
  if (!m_record) return;
  if (action == kTalkAction) {
    emit talkRequested(m_record->id, newestCheckpoint().value_or(-1));
  } else if (action == kResumeAction || action == kResumeSlowerAction) {
    emit resumeRequested(m_record->id, action == kResumeSlowerAction ? kSlowerRate : 1);
  }
}

}  // namespace athanor
