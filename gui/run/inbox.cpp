// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/inbox.h"

#include <utility>

namespace athanor {

Inbox::Inbox(QObject* parent) : QObject(parent) {
  // One event for each, so that a dialog's own event loop takes up what its opener left.
  connect(this, &Inbox::posted, this, &Inbox::runNext, Qt::QueuedConnection);
}

void Inbox::post(std::function<void()> work) {
  {
    const std::lock_guard lock(m_mutex);
    m_work.push_back(std::move(work));
  }
  emit posted();
}

void Inbox::runNext() {
  std::function<void()> work;
  {
    const std::lock_guard lock(m_mutex);
    work = std::move(m_work.front());
    m_work.pop_front();
  }
  work();
}

}  // namespace athanor
