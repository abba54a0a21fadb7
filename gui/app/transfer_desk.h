// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Where models and runs come in and go out: asks what is to be known first, starts it and tells
/// what came of it.

#include <QObject>
#include <QString>

#include "engine/store/run_store.h"
#include "gui/models/app_settings.h"
#include "gui/run/transfers.h"

class QWidget;

namespace athanor {

class Banner;

class TransferDesk : public QObject {
  Q_OBJECT
 public:
  /// `notice` is where results are told; `window` is the parent of dialogs.
  TransferDesk(RunStore* store, AppSettings* settings, Banner* notice, QWidget* window);

  Transfers* transfers() { return &m_transfers; }

  /// Imports a model or takes over a run's folder.
  void bring(const QString& path);
  /// What was dropped: one thing at a time.
  void bringOne(const QStringList& paths);
  /// Asks how, then exports.
  void exportRun(qint64 runId);

 signals:
  /// A run is there that was not before.
  void arrived(qint64 runId);
  void talkRequested(qint64 runId);
  /// For the log.
  void told(const QString& sentence);

 private:
  void send(qint64 runId, const ExportRequest& request);
  void takeImported(const ImportedModel& model);
  void takeTakenOver(qint64 runId);
  void takeExported(const ExportedModel& model, const ExportRequest& request);
  void showProblem(const QString& title, const QString& text);
  void act(const QString& id);

  RunStore* m_store;
  AppSettings* m_settings;
  Banner* m_notice;
  QWidget* m_window;
  qint64 m_arrived = 0;  ///< the last run that came in
  QString m_written;     ///< the last folder that was written
  Transfers m_transfers;
};

}  // namespace athanor
