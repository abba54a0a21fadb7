// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A thread with an event loop that does what it is given, one task after the other.

#include <QObject>
#include <QThread>
#include <functional>

namespace athanor {

/// Its destructor waits for the task in progress and drops the others. Declare it after everything
/// its tasks use.
class TaskThread {
 public:
  explicit TaskThread(const QString& name);
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// From any thread.
  void post(std::function<void()> task);
  /// Waits until everything posted is done; nothing may be posted afterwards.
  void finish();

 private:
  QThread m_thread;
  QObject m_context;  ///< lives on m_thread
};

}  // namespace athanor
