// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_diff.h"

#include <QHeaderView>
#include <QTableWidget>
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/json.h"
#include "engine/session/run_spec.h"
#include "gui/pages/spec_fields.h"
#include "widgets/format.h"

namespace athanor {
namespace {

constexpr int kRow_px = 26;
constexpr int kMostSideBySide = 3;

struct Row {
  QString name;
  QStringList values;  ///< of each run
};

QString valueText(const Json& value) {
  if (value.is_string()) return QString::fromStdString(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? RunDiff::tr("yes") : RunDiff::tr("no");
  if (value.is_number_integer()) return formatThousands(value.get<std::int64_t>());
  if (value.is_number()) return QString::number(value.get<double>(), 'g', 6);
  return QString::fromStdString(value.dump());
}

/// Settings with what older programs had not written yet; what cannot be read has none.
Json settingsOf(const RunRecord& record) {
  try {
    return run_spec_to_json(run_spec_from_json(parse_json(record.spec, record.name), record.name));
  } catch (const Error&) {
    return Json::object();
  }
}

std::vector<Row> settingRows(const std::vector<RunRecord>& records) {
  std::vector<Json> specs;
  for (const RunRecord& record : records)
    specs.push_back(settingsOf(record));
  std::vector<Row> rows;
  for (const char* part : {"data", "model", "train"}) {
    std::set<std::string> fields;
    for (const Json& spec : specs) {
      const Json settings = spec.value(part, Json::object());
      for (const auto& [field, value] : settings.items())
        fields.insert(field);
    }
    for (const std::string& field : fields) {
      Row row{.name = inWords(QString("%1.%2").arg(part, field.c_str())), .values = {}};
      for (const Json& spec : specs) {
        const Json settings = spec.value(part, Json::object());
        row.values.push_back(settings.contains(field) ? valueText(settings.at(field)) : noValue());
      }
      rows.push_back(row);
    }
  }
  return rows;
}

std::vector<Row> resultRows(const std::vector<RunRecord>& records) {
  const auto row = [&](const QString& name, const auto& text) {
    Row made{.name = name, .values = {}};
    for (const RunRecord& record : records)
      made.values.push_back(text(record));
    return made;
  };
  const auto loss = [](const std::optional<double>& value) {
    return value ? formatLoss(*value) : noValue();
  };
  return {
      row(RunDiff::tr("Best validation"),
          [&](const RunRecord& record) { return loss(record.best_validation_loss); }),
      row(RunDiff::tr("Steps done"),
          [](const RunRecord& record) { return formatThousands(record.step); }),
      row(RunDiff::tr("Tokens"),
          [](const RunRecord& record) { return formatCount(static_cast<double>(record.tokens)); }),
      row(RunDiff::tr("Tokens/s"),
          [](const RunRecord& record) {
            return record.tokens_per_second
                       ? formatThousands(std::llround(*record.tokens_per_second))
                       : noValue();
          }),
      row(RunDiff::tr("Memory planned"),
          [](const RunRecord& record) { return formatBytes(record.planned_bytes); }),
      row(RunDiff::tr("Device"),
          [](const RunRecord& record) { return QString::fromStdString(record.device); }),
  };
}

bool differs(const Row& row) {
  return std::ranges::any_of(row.values,
                             [&](const QString& value) { return value != row.values.front(); });
}

}  // namespace

RunDiff::RunDiff(QWidget* parent) : Card(tr("What differs"), parent), m_table(new QTableWidget) {
  m_table->setAccessibleName(tr("What differs between the chosen runs"));
  m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_table->setSelectionMode(QAbstractItemView::NoSelection);
  m_table->setFocusPolicy(Qt::StrongFocus);
  m_table->setTabKeyNavigation(false);
  m_table->setShowGrid(false);
  m_table->setWordWrap(false);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(kRow_px);
  m_table->horizontalHeader()->setHighlightSections(false);
  content()->addWidget(m_table, 1);
}

void RunDiff::showRuns(const std::vector<RunRecord>& records) {
  std::vector<Row> rows = resultRows(records);
  const std::vector<Row> settings = settingRows(records);
  rows.insert(rows.end(), settings.begin(), settings.end());
  std::erase_if(rows, [](const Row& row) { return !differs(row); });
  setNote(tr("%1 runs").arg(records.size()));
  QStringList titles{QString()};
  for (const RunRecord& record : records)
    titles.push_back(QString::fromStdString(record.name));
  m_table->clear();
  m_table->setRowCount(static_cast<int>(rows.size()));
  m_table->setColumnCount(static_cast<int>(titles.size()));
  m_table->setHorizontalHeaderLabels(titles);
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  for (int y = 0; y < m_table->rowCount(); ++y) {
    const Row& row = rows[static_cast<std::size_t>(y)];
    m_table->setItem(y, 0, new QTableWidgetItem(row.name));
    for (int x = 0; x < row.values.size(); ++x) {
      auto* item = new QTableWidgetItem(row.values[x]);
      item->setToolTip(row.values[x]);
      m_table->setItem(y, x + 1, item);
    }
  }
  QHeaderView* header = m_table->horizontalHeader();
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  // A few share the width, so that all are in sight; long values are cut.
  for (int x = 1; x < titles.size() && titles.size() <= kMostSideBySide + 1; ++x)
    header->setSectionResizeMode(x, QHeaderView::Stretch);
}

}  // namespace athanor
