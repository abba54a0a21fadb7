// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/source_list_model.h"

#include <QFileInfo>
#include <algorithm>

#include "widgets/format.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

QString nameOf(const CorpusSource& source) {
  const QString path = QString::fromStdString(source.path);
  const QString name = QFileInfo(path).fileName();
  return name.isEmpty() ? path : name;
}

QString documentsText(const SourcePreview& preview) {
  const QString count = formatThousands(preview.documents);
  return preview.complete ? count : SourceListModel::tr("%1+").arg(count);
}

QString textOf(const SourceListModel::Row& row, int column) {
  const bool known = row.preview.has_value() && row.preview->problem.empty();
  switch (column) {
    case SourceListModel::name:
      return nameOf(row.source);
    case SourceListModel::size:
      return known ? formatBytes(row.preview->disk_bytes) : noValue();
    case SourceListModel::documents:
      return known ? documentsText(*row.preview) : noValue();
    case SourceListModel::weight:
      return QString("×%1").arg(row.source.weight);
    default:
      return {};
  }
}

}  // namespace

std::vector<CorpusSource> SourceListModel::sources() const {
  std::vector<CorpusSource> sources;
  for (const Row& row : m_rows)
    sources.push_back(row.source);
  return sources;
}

void SourceListModel::setSources(const std::vector<CorpusSource>& sources) {
  beginResetModel();
  m_rows.clear();
  for (const CorpusSource& source : sources)
    m_rows.push_back({.source = source, .preview = {}});
  endResetModel();
}

void SourceListModel::add(const CorpusSource& source) {
  beginInsertRows({}, rowCount(), rowCount());
  m_rows.push_back({.source = source, .preview = {}});
  endInsertRows();
}

void SourceListModel::remove(int row) {
  beginRemoveRows({}, row, row);
  m_rows.erase(m_rows.begin() + row);
  endRemoveRows();
}

void SourceListModel::change(int row, const CorpusSource& source) {
  at(row).source = source;
  at(row).preview.reset();
  tell(row);
}

void SourceListModel::setWeight(int row, double times) {
  at(row).source.weight = times;
  tell(row);
}

int SourceListModel::newTicket(int row) {
  return at(row).ticket = ++m_tickets;
}

void SourceListModel::setPreview(int ticket, const SourcePreview& preview) {
  const auto found =
      std::ranges::find_if(m_rows, [ticket](const Row& row) { return row.ticket == ticket; });
  if (found == m_rows.end()) return;
  found->preview = preview;
  tell(static_cast<int>(found - m_rows.begin()));
}

void SourceListModel::tell(int row) {
  emit dataChanged(index(row, 0), index(row, kColumns - 1));
}

int SourceListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int SourceListModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant SourceListModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  const bool broken = row.preview.has_value() && !row.preview->problem.empty();
  switch (role) {
    case Qt::DisplayRole:
      return textOf(row, index.column());
    case Qt::ToolTipRole:
      return broken ? QString::fromStdString(row.preview->problem)
                    : QString::fromStdString(row.source.path);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter |
                                 (index.column() == name ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::ForegroundRole:
      return broken ? QVariant(theme().danger) : QVariant();
    default:
      return {};
  }
}

QVariant SourceListModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter |
                               (section == name ? Qt::AlignLeft : Qt::AlignRight));
  }
  if (role != Qt::DisplayRole) return {};
  return QStringList{tr("Source"), tr("On disk"), tr("Documents"), tr("Weight")}.value(section);
}

}  // namespace athanor
