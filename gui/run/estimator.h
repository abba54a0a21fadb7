// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a run would need, found beside the window's thread; only the newest question is answered.

#include <QObject>
#include <QString>
#include <optional>

#include "engine/session/training_session.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

struct Estimate {
  RunSpec spec;
  std::optional<RunEstimate> need;  ///< absent when the settings cannot be used
  QString problem;                  ///< why not; names the field as the spec does
};

class Estimator : public QObject {
  Q_OBJECT
 public:
  explicit Estimator(QObject* parent = nullptr);

  void ask(const RunSpec& spec);
  bool busy() const { return m_busy; }

 signals:
  void answered(const athanor::Estimate& estimate);

 private:
  void work(const RunSpec& spec);
  void receive(const Estimate& estimate);

  bool m_busy = false;
  std::optional<RunSpec> m_next;  ///< asked while another question was worked on
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
