// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What is known of the run chosen in the table, and what can be done with it.

#include <optional>

#include "engine/store/run_store.h"
#include "widgets/card.h"

class QFormLayout;
class QPushButton;

namespace athanor {

class RunDetails : public Card {
  Q_OBJECT
 public:
  explicit RunDetails(QWidget* parent = nullptr);

  /// nullopt: none is chosen. `canResume` is false while another run is being trained.
  void showRun(const std::optional<RunRecord>& record, const std::optional<RehearsalRow>& rehearsal,
               std::size_t checkpoints, bool canResume);

 signals:
  void openRequested();
  void talkRequested();
  void resumeRequested();
  void renameRequested();
  void deleteRequested();

 private:
  QLabel* addRow(QFormLayout* form, const QString& name);
  void makeButtons();

  QLabel* m_problem;
  QLabel* m_device;
  QLabel* m_memory;
  QLabel* m_rehearsal;
  QLabel* m_parameters;
  QLabel* m_tokens;
  QLabel* m_checkpoints;
  QPushButton* m_open;
  QPushButton* m_talk;
  QPushButton* m_resume;
  QPushButton* m_rename;
  QPushButton* m_delete;
};

}  // namespace athanor
