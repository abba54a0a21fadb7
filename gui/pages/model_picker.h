// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Which run and which of its checkpoints is talked to.

#include <QWidget>
#include <optional>

#include "gui/models/checkpoint_list_model.h"

class QComboBox;

namespace athanor {

class ModelPicker : public QWidget {
  Q_OBJECT
 public:
  explicit ModelPicker(RunStore* store, QWidget* parent = nullptr);

  /// Reads the store again and keeps the choice where it is still there. Returns a sentence on
  /// failure.
  QString refresh();
  /// The newest checkpoint when `step` is absent or gone.
  void choose(qint64 runId, std::optional<qint64> step);

  std::optional<qint64> runId() const;
  std::optional<qint64> step() const;
  /// No run has a checkpoint.
  bool isEmpty() const;
  /// Tokens that the chosen model sees at once; 0 when that is not known.
  std::int64_t context() const;

 signals:
  void importRequested(const QString& path);
  /// By the user or by choose().
  void changed();

 private:
  void showCheckpoints(std::optional<qint64> step);

  RunStore* m_store;
  QComboBox* m_run;
  QComboBox* m_checkpoint;
  CheckpointListModel m_checkpoints;
};

}  // namespace athanor
