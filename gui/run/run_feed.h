// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The course of one run, whoever trains it: this process, another one, or no one any more.

#include <QObject>
#include <QTimer>
#include <filesystem>
#include <memory>
#include <optional>

#include "gui/run/inbox.h"
#include "gui/run/run_controller.h"
#include "gui/run/run_history.h"
#include "gui/run/task_thread.h"

namespace athanor {

/// Reads the store on a thread of its own, once a second while visible; rows of a run of this
/// process come through the controller's channel before they are in the store. No row comes twice.
class RunFeed : public QObject {
  Q_OBJECT
 public:
  RunFeed(std::filesystem::path home, RunController* controller, QObject* parent = nullptr);
  ~RunFeed() override;

  std::optional<qint64> runId() const { return m_runId; }
  void open(qint64 runId);
  void close();
  /// Polls only while someone looks.
  void setVisible(bool visible);

 signals:
  /// The whole run: after open(), and when it was taken up again at an earlier step.
  void replaced(const athanor::RunHistory& history);
  /// What came since; record, events and checkpoints are whole.
  void grown(const athanor::RunHistory& news);
  /// The same, from the channel: rows alone.
  void rowsGrown(const athanor::RunRows& rows);
  void failed(const QString& reason);

 private:
  struct Reader;
  void poll();
  void request(std::int64_t afterMetric, std::int64_t afterEvaluation);
  void receive(int generation, const RunHistory& news, bool whole);
  void receiveRows(const RunRows& rows);
  RunRecord newest(const RunRecord& stored) const;
  RunRows unseen(const RunRows& rows);
  bool isOwn() const;

  RunController* m_controller;
  std::optional<qint64> m_runId;
  int m_generation = 0;
  bool m_loaded = false;
  bool m_reading = false;
  int m_resumes = 0;
  std::int64_t m_lastMetric = -1;
  std::int64_t m_lastEvaluation = -1;
  QTimer m_poll;
  std::shared_ptr<Reader> m_reader;
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
