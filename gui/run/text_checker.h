// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Reads a text file whole, beside the window's thread, and tells what is in it.

#include <QObject>
#include <QString>
#include <memory>

#include "engine/base/cancel_token.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

struct TextReport {
  QString path;
  QString problem;  ///< a sentence when it cannot be trained on; the rest is then empty
  qint64 size_bytes = 0;
  qint64 lines = 0;
  qint64 characters = 0;
  qint64 words = 0;
  qint64 documents = 0;
  QString sample;  ///< the beginning
};

class TextChecker : public QObject {
  Q_OBJECT
 public:
  explicit TextChecker(QObject* parent = nullptr);
  ~TextChecker() override;

  /// Gives up what is being checked and begins with this one.
  void check(const QString& path);

 signals:
  void progressed(qint64 done, qint64 total);
  void checked(const athanor::TextReport& report);

 private:
  int m_generation = 0;
  std::shared_ptr<CancelToken> m_cancel;
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
