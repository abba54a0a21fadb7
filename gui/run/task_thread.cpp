// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/task_thread.h"

#include <pthread.h>

#include <utility>

namespace athanor {

TaskThread::TaskThread(const std::string& name) : m_thread([this] { work(); }) {
  pthread_setname_np(m_thread.native_handle(), name.c_str());
}

TaskThread::~TaskThread() {
  end(Mode::closing);
}

void TaskThread::finish() {
  end(Mode::finishing);
}

void TaskThread::end(Mode mode) {
  {
    const std::lock_guard lock(m_mutex);
    m_mode = mode;
  }
  m_changed.notify_one();
  if (m_thread.joinable()) m_thread.join();
}

void TaskThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(m_mutex);
    m_tasks.push_back(std::move(task));
  }
  m_changed.notify_one();
}

void TaskThread::work() {
  while (const auto task = next())
    task();
}

/// Empty when there is nothing more to do.
std::function<void()> TaskThread::next() {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [this] { return m_mode != Mode::open || !m_tasks.empty(); });
  if (m_mode == Mode::closing || m_tasks.empty()) return {};
  std::function<void()> task = std::move(m_tasks.front());
  m_tasks.pop_front();
  return task;
}

}  // namespace athanor
