// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The window's view of the model that is talked to: one answer at a time.

#include <QObject>
#include <memory>

#include "gui/run/chat_worker.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

/// Signals concern the newest request only: those of a dropped one never arrive.
class ChatController : public QObject {
  Q_OBJECT
 public:
  explicit ChatController(QObject* parent = nullptr);
  ~ChatController() override;

  bool busy() const { return m_busy; }
  const BackendOptions& backend() const { return m_backend; }
  void setBackend(const BackendOptions& backend) { m_backend = backend; }
  void setThreads(int threads) { m_backend.threads = threads; }
  void setDevice(const std::string& id) { m_backend.device = id; }
  /// Drops the answer in progress, if any. Generation, backend and cancel are filled in.
  void ask(ChatRequest request);
  /// Ends with measured() or failed().
  void measure(ChatRequest request);
  /// The answer in progress ends where it is and is told by finished().
  void stop();
  /// The answer in progress is no longer wanted at all.
  void drop();

 signals:
  void loaded(const athanor::LoadedModel& model);
  void piece(const QString& text);
  void finished(const athanor::FinishedAnswer& answer);
  void measured(const athanor::Generation& speed);
  void failed(const QString& reason);

 private:
  ChatRequest begun(ChatRequest request);

  int m_generation = 0;
  BackendOptions m_backend;
  bool m_busy = false;
  std::shared_ptr<CancelToken> m_cancel;
  Inbox m_inbox;
  ChatWorker m_worker;  ///< its answer() is called on m_thread
  TaskThread m_thread;
};

}  // namespace athanor
