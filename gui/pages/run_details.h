// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What is known of the run chosen in the table, and what can be done with it.

#include <QTimer>
#include <optional>
#include <vector>

#include "engine/store/run_store.h"
#include "widgets/card.h"

class QFormLayout;
class QMenu;
class QPlainTextEdit;
class QPushButton;
class QToolButton;

namespace athanor {

class RunDetails : public Card {
  Q_OBJECT
 public:
  explicit RunDetails(QWidget* parent = nullptr);

  /// nullopt: none is chosen. `canResume` is false while another run is being trained.
  void showRun(const std::optional<RunRecord>& record, const std::optional<RehearsalRow>& rehearsal,
               const std::vector<CheckpointRow>& checkpoints, bool canResume);

  /// What it learns from and the fingerprint of that, which may be empty.
  void showData(const QString& source, const QString& fingerprint);

 signals:
  void openRequested();
  void talkRequested();
  void resumeFromRequested(qint64 step);
  void exportRequested();
  void cloneRequested();
  void renameRequested();
  void deleteRequested();
  void notesEdited(qint64 runId, const QString& notes);

 private:
  /// `from` what the run can go on.
  void fillResumeMenu(std::vector<std::int64_t> from);
  void keepNotes();

  void showOrigin(const RunRecord& record);
  QLabel* addRow(const QString& name);
  void makeButtons();

  QFormLayout* m_form;
  QLabel* m_problem;
  QLabel* m_device;
  QLabel* m_memory;
  QLabel* m_rehearsal;
  QLabel* m_parameters;
  QLabel* m_origin;
  QLabel* m_data;
  QLabel* m_tokens;
  QLabel* m_checkpoints;
  QPlainTextEdit* m_notes;
  QTimer m_typing;  ///< since the last key; notes are kept when it ends
  qint64 m_runId = 0;
  QPushButton* m_open;
  QPushButton* m_talk;
  QPushButton* m_resume;
  QMenu* m_resumeMenu;
  std::vector<std::int64_t> m_steps;  ///< in the menu
  QPushButton* m_clone;
  QPushButton* m_export;
  QToolButton* m_rename;
  QPushButton* m_delete;
};

}  // namespace athanor
