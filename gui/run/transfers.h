// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Models and runs that come and go: one at a time, beside the window's thread.

#include <QObject>
#include <QString>
#include <filesystem>
#include <functional>
#include <memory>

#include "engine/session/model_exchange.h"
#include "gui/run/inbox.h"
#include "gui/run/task_thread.h"

namespace athanor {

class Transfers : public QObject {
  Q_OBJECT
 public:
  explicit Transfers(std::filesystem::path home, QObject* parent = nullptr);
  /// What is under way is given up; nothing of it stays.
  ~Transfers() override;

  bool busy() const { return m_busy; }
  /// What is under way, "Importing smol.gguf".
  const QString& title() const { return m_title; }

  /// The next three do nothing while busy(). `path`: another program's model, or a run's folder of
  /// another Athanor.
  void bring(const QString& path);
  void send(const std::filesystem::path& runFolder, const ExportRequest& request);
  void cancel();

 signals:
  void busyChanged();
  void progressed(qint64 done, qint64 total);
  void imported(const athanor::ImportedModel& model);
  void tookOver(qint64 runId);
  void exported(const athanor::ExportedModel& model, const athanor::ExportRequest& request);
  void failed(const QString& title, const QString& reason);

 private:
  /// Returns what is then done on the window's thread.
  using Work = std::function<std::function<void()>(const CancelToken&, const ProgressCallback&)>;
  void begin(const QString& title, const QString& failure, const Work& work);
  void end();

  std::filesystem::path m_home;
  bool m_busy = false;
  QString m_title;
  std::shared_ptr<CancelToken> m_cancel;
  Inbox m_inbox;
  TaskThread m_thread;
};

/// Whether `path` is the folder of a run, which is taken over, and not a model to be imported.
bool isRunFolder(const std::filesystem::path& path);

}  // namespace athanor
