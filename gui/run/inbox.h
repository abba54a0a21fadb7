// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What other threads leave for the thread that this object lives on.

#include <QObject>
#include <deque>
#include <functional>
#include <mutex>

namespace athanor {

/// Work runs in the order it was posted. The hand-over is a mutex, which ThreadSanitizer sees;
/// Qt, which the distribution builds without it, only wakes the receiver. Declare it before the
/// thread that posts.
class Inbox : public QObject {
  Q_OBJECT
 public:
  explicit Inbox(QObject* parent = nullptr);

  /// From any thread.
  void post(std::function<void()> work);

  /// From now on each `signal` of `sender`, emitted on any thread, is followed by slot(arguments)
  /// on this one.
  template <class Sender, class... Arguments, class Slot>
  void relay(Sender* sender, void (Sender::*signal)(Arguments...), Slot slot) {
    connect(
        sender, signal, this,
        [this, slot](const std::decay_t<Arguments>&... arguments) {
          post([slot, arguments...] { slot(arguments...); });
        },
        Qt::DirectConnection);
  }

 signals:
  void posted();

 private:
  void runNext();

  std::mutex m_mutex;
  std::deque<std::function<void()>> m_work;
};

}  // namespace athanor
