// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The window's view of the run that this process trains: at most one at a time.

#include <QObject>
#include <QTimer>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>

#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"
#include "gui/run/training_worker.h"

namespace athanor {

/// idle → preparing → running ⇄ paused → stopping → ended; a refusal or a cancelled preparation
/// leads back to idle.
class RunController : public QObject {
  Q_OBJECT
 public:
  enum class State { idle, preparing, running, paused, stopping, ended };
  Q_ENUM(State)

  explicit RunController(std::filesystem::path home, QObject* parent = nullptr);
  /// Stops and saves what is still being trained, and waits for it.
  ~RunController() override;

  State state() const { return m_state; }
  bool busy() const { return m_state != State::idle && m_state != State::ended; }
  /// Of the present or the last run of this process.
  const std::optional<SessionStart>& session() const { return m_session; }
  std::optional<qint64> runId() const;
  const std::optional<SessionEnd>& lastEnd() const { return m_end; }
  const std::optional<MetricRow>& latest() const { return m_latest; }
  /// Time to the last step at the present speed; nullopt while it is unknown.
  std::optional<double> secondsLeft() const;
  /// The newest rows, more than the store may lag behind.
  const std::deque<MetricRow>& recentRows() const { return m_recent; }

  /// From the next run on.
  void setThreads(int threads) { m_backend.threads = threads; }
  void setDevice(const std::string& id) { m_backend.device = id; }
  const BackendOptions& backend() const { return m_backend; }

 public slots:
  /// The next four do nothing in a state that they do not suit.
  void start(const athanor::RunSpec& spec,
             const std::optional<athanor::RehearsalRow>& rehearsal = {});
  void resume(qint64 runId, const athanor::TrainingSession::ResumeOptions& how = {});
  void setPaused(bool paused);
  void saveNow();
  void stop();

 signals:
  void stateChanged(athanor::RunController::State state);
  void stageChanged(const QString& what, qint64 done, qint64 total);
  void started(const athanor::SessionStart& start);
  /// At most ten times a second.
  void rowsArrived(const athanor::RunRows& rows);
  void checkpointSaved(qint64 step);
  void noticed(const athanor::Notice& notice);
  void ended(const athanor::SessionEnd& end);
  void refused(const QString& reason);

 private:
  void launch(TrainingJob job);
  void setState(State state);
  void drain();
  void handleStarted(const SessionStart& start);
  void handleEnded(const SessionEnd& end);
  void handleRefused(const QString& reason);

  State m_state = State::idle;
  BackendOptions m_backend;
  std::shared_ptr<MetricChannel> m_channel;
  std::shared_ptr<TrainControl> m_control;
  std::optional<SessionStart> m_session;
  std::optional<SessionEnd> m_end;
  std::optional<MetricRow> m_latest;
  std::deque<MetricRow> m_recent;
  QTimer m_drain;
  Inbox m_inbox;
  TrainingWorker m_worker;  ///< its run() is called on m_thread
  TaskThread m_thread;
};

}  // namespace athanor
