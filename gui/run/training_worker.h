// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Trains on its own thread and tells the window of it by values alone.

#include <QObject>
#include <QString>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/session/training_session.h"
#include "gui/run/metric_channel.h"

namespace athanor {

/// What to train: a new run of `spec`, or the run `resumed` further.
struct TrainingJob {
  RunSpec spec;
  std::optional<RehearsalRow> rehearsal = {};  ///< of this spec, to be kept with the run
  std::optional<std::int64_t> resumed;
  TrainingSession::ResumeOptions how = {};
  BackendOptions backend = {};
  std::shared_ptr<TrainControl> control;
};

/// run() is called on the worker's own thread and emits there.
class TrainingWorker : public QObject, private SessionObserver {
  Q_OBJECT
 public:
  TrainingWorker(std::filesystem::path home, std::shared_ptr<MetricChannel> channel);

  void run(const TrainingJob& job);

 signals:
  void stage(const QString& what, qint64 done, qint64 total);
  void started(const athanor::SessionStart& start);
  void paused(bool paused);
  void checkpointSaved(qint64 step);
  void noticed(const athanor::Notice& notice);
  void ended(const athanor::SessionEnd& end);
  /// Before there was a run; an empty reason means that it was cancelled.
  void refused(const QString& reason);

 private:
  void on_stage(const std::string& stage, std::int64_t done, std::int64_t total) override;
  void on_started(const SessionStart& start) override;
  void on_step(const StepMetrics& metrics) override;
  void on_evaluation(const Evaluation& evaluation) override;
  void on_checkpoint(const SavedCheckpoint& checkpoint) override;
  void on_paused(bool paused) override;
  void on_notice(const Notice& notice) override;

  std::filesystem::path m_home;
  std::shared_ptr<MetricChannel> m_channel;
  MetricRow m_last;
};

}  // namespace athanor
