// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Looks into sources of text beside the window's thread, one after the other.

#include <QObject>
#include <QString>
#include <memory>

#include "engine/data/source_preview.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

class SourcePreviewer : public QObject {
  Q_OBJECT
 public:
  explicit SourcePreviewer(QObject* parent = nullptr);
  ~SourcePreviewer() override;

  /// Answered with the same ticket, unless dropAll() comes first.
  void ask(int ticket, const CorpusSource& source, const ReadOptions& options);
  void dropAll();

 signals:
  /// preview.problem is a sentence where the source cannot be used.
  void answered(int ticket, const athanor::SourcePreview& preview);

 private:
  std::shared_ptr<CancelToken> m_cancel;
  Inbox m_inbox;
  TaskThread m_thread;
};

}  // namespace athanor
