// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/task_thread.h"

namespace athanor {

TaskThread::TaskThread(const QString& name) {
  m_thread.setObjectName(name);
  m_context.moveToThread(&m_thread);
  m_thread.start();
}

TaskThread::~TaskThread() {
  m_thread.quit();
  m_thread.wait();
}

void TaskThread::finish() {
  // The thread ends itself, behind all that was posted before.
  post([this] { m_thread.quit(); });
  m_thread.wait();
}

void TaskThread::post(std::function<void()> task) {
  QMetaObject::invokeMethod(&m_context, std::move(task), Qt::QueuedConnection);
}

}  // namespace athanor
