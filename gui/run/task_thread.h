// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A thread that does what it is given, one task after the other.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace athanor {

/// Its destructor waits for the task in progress and drops the others. Declare it after everything
/// its tasks use.
class TaskThread {
 public:
  /// `name`: as the system's tools show the thread; at most 15 bytes.
  explicit TaskThread(const std::string& name);
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  /// From any thread.
  void post(std::function<void()> task);
  /// Waits until everything posted is done; nothing may be posted afterwards.
  void finish();

 private:
  enum class Mode { open, finishing, closing };
  void end(Mode mode);
  void work();
  std::function<void()> next();

  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<std::function<void()>> m_tasks;
  Mode m_mode = Mode::open;
  std::thread m_thread;
};

}  // namespace athanor
