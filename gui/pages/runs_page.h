// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// All runs of this machine: table, the curves of the chosen ones, and what can be done with one.

#include <QSortFilterProxyModel>
#include <QTimer>
#include <QWidget>
#include <optional>

#include "gui/models/run_deletion.h"
#include "gui/models/run_list_model.h"
#include "gui/run/run_controller.h"

class QLineEdit;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace athanor {

class Banner;
class LossPlot;
class RunDetails;
class RunDiff;
class Segmented;

class RunsPage : public QWidget {
  Q_OBJECT
 public:
  RunsPage(RunStore* store, RunController* controller, RunDeletion* deletion,
           QWidget* parent = nullptr);

  QTableView* table() const { return m_table; }
  RunListModel* model() { return &m_model; }
  void choose(qint64 runId);
  std::optional<RunRecord> chosen() const;
  void deleteChosen();
  /// A run that came in just now; it is chosen.
  void showArrived(qint64 runId);

 signals:
  void openRequested(qint64 runId);
  void talkRequested(qint64 runId, qint64 step);
  void resumeRequested(qint64 runId, qint64 step);
  void cloneRequested(const athanor::RunSpec& spec);
  void planRequested();
  void importRequested(const QString& path);
  void dropped(const QStringList& paths);
  void exportRequested(qint64 runId);

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  QPushButton* importButton();
  QWidget* makeTable();
  QWidget* makeBelow();
  void connectDetails();
  void refresh();
  void updateChosen();
  std::vector<RunRecord> selected() const;
  void cloneChosen();
  void showCurves();
  void showProblem(const QString& title, const QString& text);

  RunStore* m_store;
  RunController* m_controller;
  RunDeletion* m_deletion;
  RunListModel m_model;
  QSortFilterProxyModel m_sorted;
  QTimer m_poll;
  Banner* m_banner;
  QLineEdit* m_filter;
  QStackedWidget* m_stack;
  QTableView* m_table;
  LossPlot* m_curves;
  Segmented* m_which;  ///< curves: of validation or of training
  RunDetails* m_details;
  RunDiff* m_diff;
  QStackedWidget* m_side;  ///< details of one run, or what sets several apart
};

}  // namespace athanor
