// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One run: its curves while it trains and afterwards, what it takes, and the buttons that steer
/// it.

#include <QWidget>
#include <filesystem>
#include <optional>

#include "gui/run/run_controller.h"
#include "gui/run/run_feed.h"

class QPushButton;
class QStackedWidget;

namespace athanor {

class Badge;
class Banner;
class DeviceChoice;
class DeviceMonitor;
class EmptyState;
class PageHeader;
class PreparationPanel;
class RunCurves;
class RunEvents;
class RunSide;

class RunPage : public QWidget {
  Q_OBJECT
 public:
  RunPage(const std::filesystem::path& home, RunController* controller, DeviceChoice* choice,
          DeviceMonitor* monitor, QWidget* parent = nullptr);

  void openRun(qint64 runId);
  void closeRun();
  std::optional<qint64> runId() const { return m_feed.runId(); }
  RunCurves* curves() const { return m_curves; }
  /// Why nothing came of a resume, or another trouble with the run shown.
  void showProblem(const QString& title, const QString& text);

 signals:
  void talkRequested(qint64 runId, qint64 step);
  void resumeRequested(qint64 runId, double learningRateScale);
  void planRequested();

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void makeActions();
  QWidget* makeContent();
  void connectFeed();
  void connectController();
  void showDevice();
  void takeRecord(const RunHistory& history);
  void showNews();
  void updateView();
  void updateActions(bool own);
  void act(const QString& action);
  bool isOwn() const;
  std::optional<std::int64_t> newestCheckpoint() const;

  RunController* m_controller;
  DeviceChoice* m_choice;
  PageHeader* m_header;
  Badge* m_badge;
  Banner* m_banner;
  QStackedWidget* m_stack;
  EmptyState* m_empty;
  PreparationPanel* m_preparation;
  QWidget* m_content;
  RunCurves* m_curves;
  RunEvents* m_events;
  RunSide* m_side;
  QPushButton* m_talk;
  QPushButton* m_resume;
  QPushButton* m_pause;
  QPushButton* m_save;
  QPushButton* m_stop;
  std::optional<RunRecord> m_record;
  std::vector<CheckpointRow> m_checkpoints;
  QString m_newsShown;  ///< so that a closed banner does not come back at the next poll
  RunFeed m_feed;
};

}  // namespace athanor
