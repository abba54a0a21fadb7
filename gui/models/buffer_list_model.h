// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Every buffer of a planned step, as a table.

#include <QAbstractTableModel>

#include "engine/train/train_memory.h"

namespace athanor {

class BufferListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name, use, size, taken, gone, atPeak, kColumns };
  /// The value to sort by.
  static constexpr int sortRole = Qt::UserRole;

  using QAbstractTableModel::QAbstractTableModel;

  void setPlan(const TrainPlan& plan);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QVariant valueOf(const Arena::Record& buffer, int column) const;
  QVariant textOf(const Arena::Record& buffer, int column) const;
  bool isAtPeak(const Arena::Record& buffer) const;

  std::vector<Arena::Record> m_buffers;
  std::int64_t m_moments = 0;
  std::int64_t m_peakMoment = 0;
};

}  // namespace athanor
