// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/buffer_list_model.h"

#include "widgets/format.h"

namespace athanor {

void BufferListModel::setPlan(const TrainPlan& plan) {
  beginResetModel();
  m_rows.clear();
  for (const Arena::Record& buffer : plan.buffers)
    m_rows.push_back({buffer, false});
  for (const Arena::Record& buffer : plan.host_buffers)
    m_rows.push_back({buffer, true});
  m_moments = plan.moments;
  m_peakMoment = plan.memory.peak_moment;
  endResetModel();
}

int BufferListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int BufferListModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

bool BufferListModel::isAtPeak(const Row& row) const {
  const Arena::Record& buffer = row.buffer;
  return !row.offloaded && buffer.first_moment <= m_peakMoment &&
         (buffer.end_moment == 0 || m_peakMoment < buffer.end_moment);
}

QVariant BufferListModel::valueOf(const Row& row, int column) const {
  const Arena::Record& buffer = row.buffer;
  switch (column) {
    case size:
      return QVariant::fromValue<qint64>(buffer.size_bytes);
    case taken:
      return QVariant::fromValue<qint64>(row.offloaded ? 1 : buffer.first_moment);
    case gone:
      return QVariant::fromValue<qint64>(
          row.offloaded || buffer.end_moment == 0 ? m_moments + 1 : buffer.end_moment);
    case atPeak:
      return isAtPeak(row);
    default:
      return textOf(row, column);
  }
}

QVariant BufferListModel::textOf(const Row& row, int column) const {
  const Arena::Record& buffer = row.buffer;
  switch (column) {
    case name:
      return QString::fromStdString(buffer.name.text());
    case use:
      return QString::fromLatin1(name_of(buffer.role).data(),
                                 static_cast<qsizetype>(name_of(buffer.role).size()));
    case where:
      return row.offloaded ? tr("file") : tr("memory");
    case size:
      return formatBytes(buffer.size_bytes);
    case taken:
      return formatThousands(row.offloaded ? 1 : buffer.first_moment);
    case gone:
      return row.offloaded || buffer.end_moment == 0 ? tr("stays")
                                                     : formatThousands(buffer.end_moment);
    case atPeak:
      return isAtPeak(row) ? tr("yes") : tr("no");
    default:
      return {};
  }
}

QVariant BufferListModel::data(const QModelIndex& index, int role) const {
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  const bool number = index.column() >= size && index.column() <= gone;
  switch (role) {
    case Qt::DisplayRole:
      return textOf(row, index.column());
    case sortRole:
      return valueOf(row, index.column());
    case Qt::TextAlignmentRole:
      return QVariant::fromValue((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default:
      return {};
  }
}

QVariant BufferListModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  const QString titles[kColumns] = {tr("Buffer"),   tr("Use"),     tr("Where"),      tr("Size"),
                                    tr("Taken at"), tr("Gone at"), tr("At the peak")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::TextAlignmentRole) {
    const bool number = section >= size && section <= gone;
    return QVariant::fromValue((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  return {};
}

}  // namespace athanor
