// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A run that is being deleted: it can be undone for ten seconds, then it and its folder go.

#include <QObject>
#include <QTimer>
#include <optional>

#include "engine/store/run_store.h"
#include "gui/run/task_thread.h"

namespace athanor {

class RunDeletion : public QObject {
  Q_OBJECT
 public:
  static constexpr int kGrace_ms = 10'000;

  explicit RunDeletion(RunStore* store, QObject* parent = nullptr);
  /// What is pending is deleted.
  ~RunDeletion() override;

  std::optional<qint64> pending() const { return m_pending; }
  /// A deletion that was pending is done at once.
  void begin(qint64 runId);
  void undo();
  void commit();

 signals:
  void pendingChanged();
  void failed(const QString& reason);

 private:
  RunStore* m_store;
  std::optional<qint64> m_pending;
  QTimer m_timer;
  TaskThread m_files;  ///< checkpoints may be gigabytes
};

}  // namespace athanor
