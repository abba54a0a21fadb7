// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// How a run's model is to be written for other programs: as what, in which numbers, where to.

#include <QDialog>
#include <optional>
#include <vector>

#include "engine/session/model_exchange.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace athanor {

class FormRow;
class Segmented;

class ExportDialog : public QDialog {
  Q_OBJECT
 public:
  /// `checkpoints` are the run's, at least one. New folders are proposed in `parentFolder`.
  ExportDialog(const RunRecord& run, std::vector<CheckpointRow> checkpoints,
               const QString& parentFolder, QWidget* parent = nullptr);

  /// Meaningful once accepted.
  ExportRequest request() const;

 private:
  FileKind kind() const;
  std::optional<NumberFormat> type() const;
  const CheckpointRow& checkpoint() const;
  void addRows();
  /// Numbers that the kind has, with what the weights would take.
  void fillTypes();
  void proposeFolder();
  void chooseFolder();
  void refresh();
  QString folderProblem() const;

  QString m_name;  ///< for files, made of the run's
  ModelConfig m_model;
  QString m_unreadable;  ///< why the run cannot be exported at all; mostly empty
  std::vector<CheckpointRow> m_checkpoints;  ///< the newest first
  QString m_parentFolder;
  bool m_folderTyped = false;
  QComboBox* m_checkpoint;
  Segmented* m_kind;
  QComboBox* m_type;
  QLineEdit* m_folder;
  FormRow* m_kindRow = nullptr;
  FormRow* m_typeRow = nullptr;
  FormRow* m_folderRow = nullptr;
  QLabel* m_result;
  QPushButton* m_export;
};

}  // namespace athanor
