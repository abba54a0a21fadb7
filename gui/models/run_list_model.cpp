// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/run_list_model.h"

#include <algorithm>

#include "gui/models/run_status.h"
#include "gui/run/attempt.h"
#include "widgets/format.h"

namespace athanor {
namespace {

QString textOf(const RunRecord& record, int column) {
  const auto real = [](const std::optional<double>& value) {
    return value ? formatLoss(*value) : noValue();
  };
  switch (column) {
    case RunListModel::name:
      return QString::fromStdString(record.name);
    case RunListModel::tags:
      return QString::fromStdString(record.tags);
    case RunListModel::state:
      return badgeWord(badgeOf(record));
    case RunListModel::step:
      // An imported model was trained elsewhere.
      if (record.steps == 0) return noValue();
      return QString("%1 / %2").arg(formatThousands(record.step), formatThousands(record.steps));
    case RunListModel::loss:
      return real(record.loss);
    case RunListModel::best:
      return real(record.best_validation_loss);
    case RunListModel::speed:
      return record.tokens_per_second
                 ? formatThousands(static_cast<std::int64_t>(*record.tokens_per_second))
                 : noValue();
    case RunListModel::time:
      return record.seconds > 0 ? formatDuration(record.seconds) : noValue();
    case RunListModel::when:
      return dateText(record.created_ms);
    default:
      return {};
  }
}

QVariant sortKey(const RunRecord& record, int column) {
  switch (column) {
    case RunListModel::step:
      return QVariant::fromValue<qlonglong>(record.step);
    case RunListModel::loss:
      return record.loss.value_or(1e300);
    case RunListModel::best:
      return record.best_validation_loss.value_or(1e300);
    case RunListModel::speed:
      return record.tokens_per_second.value_or(-1);
    case RunListModel::time:
      return record.seconds;
    case RunListModel::when:
      return QVariant::fromValue<qlonglong>(record.created_ms);
    default:
      return textOf(record, column);
  }
}

bool isNumber(int column) {
  return column >= RunListModel::step;
}

}  // namespace

RunListModel::RunListModel(RunStore* store, QObject* parent)
    : QAbstractTableModel(parent), m_store(store) {}

QString RunListModel::refresh() {
  return attempt([this] { take(m_store->runs()); });
}

void RunListModel::setHidden(const std::set<std::int64_t>& ids) {
  m_hidden = ids;
  refresh();
}

void RunListModel::take(std::vector<RunRecord> records) {
  std::erase_if(records, [this](const RunRecord& record) { return m_hidden.contains(record.id); });
  const bool sameRuns =
      std::equal(records.begin(), records.end(), m_records.begin(), m_records.end(),
                 [](const RunRecord& a, const RunRecord& b) { return a.id == b.id; });
  if (sameRuns) {
    m_records = std::move(records);
    if (!m_records.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
    return;
  }
  beginResetModel();
  m_records = std::move(records);
  endResetModel();
}

std::optional<RunRecord> RunListModel::record(int row) const {
  if (row < 0 || row >= rowCount()) return std::nullopt;
  return m_records[static_cast<std::size_t>(row)];
}

int RunListModel::rowOf(std::int64_t runId) const {
  const auto found = std::find_if(m_records.begin(), m_records.end(),
                                  [runId](const RunRecord& record) { return record.id == runId; });
  return found == m_records.end() ? -1 : static_cast<int>(found - m_records.begin());
}

int RunListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_records.size());
}

int RunListModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : columnCountOf;
}

QVariant RunListModel::data(const QModelIndex& index, int role) const {
  const std::optional<RunRecord> record = this->record(index.row());
  if (!record) return {};
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return textOf(*record, index.column());
    case Qt::ToolTipRole:
      return QString::fromStdString(record->problem);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter |
                                 (isNumber(index.column()) ? Qt::AlignRight : Qt::AlignLeft));
    case sortRole:
      return sortKey(*record, index.column());
    case idRole:
      return QVariant::fromValue<qlonglong>(record->id);
    case badgeRole:
      return static_cast<int>(badgeOf(*record));
    case searchRole:
      return QString::fromStdString(record->name + "\n" + record->tags + "\n" + record->notes) +
             "\n" + badgeWord(badgeOf(*record));
    case seriesRole:
      return seriesOf(record->id);
    default:
      return {};
  }
}

QVariant RunListModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter |
                               (isNumber(section) ? Qt::AlignRight : Qt::AlignLeft));
  }
  if (role != Qt::DisplayRole) return {};
  const QStringList titles = {tr("Name"),     tr("Tags"), tr("State"),
                              tr("Step"),     tr("Loss"), tr("Best validation"),
                              tr("Tokens/s"), tr("Time"), tr("Started")};
  return titles.value(section);
}

Qt::ItemFlags RunListModel::flags(const QModelIndex& index) const {
  const Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  return index.column() <= tags ? flags | Qt::ItemIsEditable : flags;
}

bool RunListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const std::string text = value.toString().trimmed().toStdString();
  const std::optional<RunRecord> old = record(index.row());
  if (role != Qt::EditRole || !old) return false;
  RunDescription description{.name = old->name, .tags = old->tags, .notes = old->notes};
  std::string& edited = index.column() == name ? description.name : description.tags;
  if (text == edited || (index.column() == name && text.empty())) return false;
  edited = text;
  const QString problem = attempt([&] { m_store->describe(old->id, description); });
  if (!problem.isEmpty()) {
    emit editFailed(problem);
    return false;
  }
  refresh();
  return true;
}

}  // namespace athanor
