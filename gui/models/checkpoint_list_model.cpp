// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/checkpoint_list_model.h"

#include <algorithm>
#include <utility>

#include "widgets/format.h"

namespace athanor {
namespace {

QString textOf(const CheckpointRow& row, bool newest) {
  QString text = CheckpointListModel::tr("step %1").arg(formatThousands(row.step));
  if (newest) text += CheckpointListModel::tr(" · newest");
  if (row.best) text += CheckpointListModel::tr(" · best");
  if (row.validation_loss) {
    text += CheckpointListModel::tr(" · validation %1").arg(formatLoss(*row.validation_loss));
  }
  return text;
}

}  // namespace

void CheckpointListModel::setCheckpoints(std::vector<CheckpointRow> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const CheckpointRow& a, const CheckpointRow& b) { return a.step > b.step; });
  beginResetModel();
  m_rows = std::move(rows);
  endResetModel();
}

int CheckpointListModel::rowOf(std::int64_t step) const {
  const auto found = std::find_if(m_rows.begin(), m_rows.end(),
                                  [step](const CheckpointRow& row) { return row.step == step; });
  return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

int CheckpointListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant CheckpointListModel::data(const QModelIndex& index, int role) const {
  if (index.row() < 0 || index.row() >= rowCount()) return {};
  const CheckpointRow& row = m_rows[static_cast<std::size_t>(index.row())];
  if (role == Qt::DisplayRole) return textOf(row, index.row() == 0);
  if (role == stepRole) return QVariant::fromValue<qlonglong>(row.step);
  return {};
}

}  // namespace athanor
