// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The runs of the store as a table.

#include <QAbstractTableModel>
#include <optional>
#include <set>
#include <vector>

#include "engine/store/run_store.h"

namespace athanor {

class RunListModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { name, tags, state, step, loss, best, speed, time, when, columnCountOf };
  /// searchRole: all that a user may look for, as one text.
  enum Role { sortRole = Qt::UserRole, idRole, badgeRole, seriesRole, searchRole };

  explicit RunListModel(RunStore* store, QObject* parent = nullptr);

  /// Reads the store again; rows that stayed keep their place. Returns a sentence on failure.
  QString refresh();
  /// Leaves a run out, as long as its deletion can be undone.
  void setHidden(const std::set<std::int64_t>& ids);

  std::optional<RunRecord> record(int row) const;
  int rowOf(std::int64_t runId) const;  ///< −1 when it is not there

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  /// Changes a run's name or tags.
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 signals:
  void editFailed(const QString& reason);

 private:
  void take(std::vector<RunRecord> records);

  RunStore* m_store;
  std::vector<RunRecord> m_records;
  std::set<std::int64_t> m_hidden;
};

}  // namespace athanor
