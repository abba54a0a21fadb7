// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/record_table.h"

#include <QFileInfo>
#include <QHeaderView>
#include <algorithm>

#include "engine/base/json.h"
#include "widgets/format.h"
#include "widgets/theme.h"
#include "widgets/token_view.h"

namespace athanor {
namespace {

constexpr int kRow_px = 28;
constexpr int kMostFields = 6;
constexpr int kShown = 300;
constexpr int kTip = 1500;
constexpr int kWidest_px = 260;

QTableWidgetItem* cell(const QString& text) {
  auto* made = new QTableWidgetItem(visibleText(text.left(kShown)));
  made->setToolTip(text.left(kTip));
  made->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
  return made;
}

/// What a record has under a name; a preview's content may be cut off and then says nothing.
QString valueIn(const PreviewedRecord& record, const std::string& field) {
  const Json json = Json::parse(record.content, nullptr, false);
  if (!json.is_object() || !json.contains(field)) return noValue();
  const Json& value = json[field];
  return QString::fromStdString(value.is_string()
                                    ? value.get<std::string>()
                                    : value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

RecordTable::RecordTable(QWidget* parent) : QTableWidget(parent) {
  setAccessibleName(tr("First records"));
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(kRow_px);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
}

void RecordTable::clearPreview() {
  setRowCount(0);
  setColumnCount(0);
}

void RecordTable::showPreview(const SourcePreview& preview) {
  clearPreview();
  const int fields = std::min(static_cast<int>(preview.fields.size()), kMostFields);
  QStringList titles{tr("Line")};
  for (int i = 0; i < fields; ++i) {
    const FieldSummary& field = preview.fields[static_cast<std::size_t>(i)];
    titles << tr("%1 (%2)").arg(QString::fromStdString(field.name),
                                QString::fromStdString(field.type));
  }
  titles << tr("Text that is learnt from");
  setColumnCount(static_cast<int>(titles.size()));
  setHorizontalHeaderLabels(titles);
  setRowCount(static_cast<int>(preview.first.size()));
  for (int row = 0; row < rowCount(); ++row) {
    const PreviewedRecord& record = preview.first[static_cast<std::size_t>(row)];
    auto* line = cell(formatThousands(record.line));
    line->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    line->setToolTip(QString::fromStdString(record.file));
    setItem(row, 0, line);
    for (int i = 0; i < fields; ++i)
      setItem(row, 1 + i, cell(valueIn(record, preview.fields[static_cast<std::size_t>(i)].name)));
    const bool good = record.problem.empty();
    auto* text = cell(QString::fromStdString(good ? record.text : record.problem));
    if (!good) text->setForeground(theme().danger);
    setItem(row, 1 + fields, text);
  }
  resizeColumnsToContents();
  for (int column = 0; column + 1 < columnCount(); ++column)
    setColumnWidth(column, std::min(columnWidth(column) + 16, kWidest_px));
  horizontalHeader()->setStretchLastSection(true);
}

}  // namespace athanor
