// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Every buffer of a planned step, as a table.

#include <QAbstractTableModel>

#include "engine/train/train_memory.h"

namespace athanor {

class BufferListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name, use, where, size, taken, gone, atPeak, kColumns };
  /// The value to sort by.
  static constexpr int sortRole = Qt::UserRole;

  using QAbstractTableModel::QAbstractTableModel;

  void setPlan(const TrainPlan& plan);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  /// One of either tier; what is offloaded is there throughout.
  struct Row {
    Arena::Record buffer;
    bool offloaded = false;
  };

  QVariant valueOf(const Row& row, int column) const;
  QVariant textOf(const Row& row, int column) const;
  bool isAtPeak(const Row& row) const;

  std::vector<Row> m_rows;
  std::int64_t m_moments = 0;
  std::int64_t m_peakMoment = 0;
};

}  // namespace athanor
