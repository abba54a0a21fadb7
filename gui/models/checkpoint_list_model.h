// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The checkpoints of one run as a list, the newest first.

#include <QAbstractListModel>
#include <vector>

#include "engine/store/run_store.h"

namespace athanor {

class CheckpointListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role { stepRole = Qt::UserRole };

  using QAbstractListModel::QAbstractListModel;

  void setCheckpoints(std::vector<CheckpointRow> rows);
  int rowOf(std::int64_t step) const;  ///< −1 when it is not there

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  std::vector<CheckpointRow> m_rows;
};

}  // namespace athanor
