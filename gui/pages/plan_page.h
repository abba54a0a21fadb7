// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Where a run is planned: the form at the left, what it would take at the right, and Start.

#include <QTimer>
#include <QWidget>

#include "gui/run/estimator.h"
#include "gui/run/run_controller.h"

class QLabel;
class QPushButton;
class QToolButton;

namespace athanor {

class AppSettings;

class Banner;
class DeviceChoice;
class PageHeader;
class PlanEstimate;
class PlanForm;

class PlanPage : public QWidget {
  Q_OBJECT
 public:
  PlanPage(const std::filesystem::path& home, AppSettings* settings, DeviceChoice* choice,
           RunController* controller, QWidget* parent = nullptr);

  PlanForm* form() const { return m_form; }
  PlanEstimate* estimate() const { return m_estimate; }
  void useData(const QString& path);
  /// Sources, what becomes of them, tokenizer and vocabulary.
  void useDataOf(const RunSpec& spec);
  /// Shows the settings of another run; undo brings the present ones back.
  void useSpec(const RunSpec& spec);
  /// What came of a start that was refused before there was a run.
  void showRefusal(const QString& reason);

 signals:
  /// `rehearsal` is there when these very settings were rehearsed.
  void startRequested(const athanor::RunSpec& spec,
                      const std::optional<athanor::RehearsalRow>& rehearsal);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void showCards(const std::filesystem::path& home);
  void ask();
  void measure();
  void receive(const Estimate& estimate);
  void updateStart();
  /// Why nothing can be started now; empty when it can.
  QString obstacle() const;
  void start();
  void rehearse();
  std::optional<RehearsalRow> rehearsalOf(const RunSpec& spec) const;
  void remember(const RunSpec& spec);
  void goThroughHistory(int direction);
  void updateHistory();
  void showRehearsal(const std::optional<Rehearsal>& rehearsal, const QString& problem);

  RunController* m_controller;
  PageHeader* m_header;
  Banner* m_banner;
  PlanForm* m_form;
  PlanEstimate* m_estimate;
  QLabel* m_reason;
  QToolButton* m_undo;
  QToolButton* m_redo;
  QPushButton* m_rehearse;
  QPushButton* m_start;
  QTimer m_delay;
  bool m_current = false;  ///< the estimate shown is of the form as it is
  QString m_problem;       ///< of the whole spec, when it belongs to no field
  QString m_refusal;       ///< of the last start; shown at its field until something is edited
  std::vector<RunSpec> m_history;         ///< each settled state of the form
  std::size_t m_at = 0;                   ///< of the one that the form shows
  std::optional<Throughput> m_predicted;  ///< of the form as it is
  double m_microBatch_s = 0;              ///< predicted, of the form as it is; 0: unknown
  /// What is or was last rehearsed, on what and what had been predicted for it.
  struct {
    RunSpec spec;
    BackendOptions backend;
    std::optional<Throughput> predicted;
    std::optional<Rehearsal> result;
  } m_rehearsal;
  Estimator m_estimator;
};

}  // namespace athanor
