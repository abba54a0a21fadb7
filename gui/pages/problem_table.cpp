// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/problem_table.h"

#include <QFileInfo>
#include <QHeaderView>

#include "widgets/format.h"

namespace athanor {
namespace {

constexpr int kRow_px = 28;
constexpr int kLeastColumn_px = 60;

}  // namespace

ProblemTable::ProblemTable(QWidget* parent) : QTableWidget(parent) {
  setAccessibleName(tr("Records that were not used"));
  setColumnCount(3);
  setHorizontalHeaderLabels({tr("File"), tr("Line"), tr("Why it is left out")});
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(kRow_px);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  horizontalHeader()->setMinimumSectionSize(kLeastColumn_px);
  horizontalHeader()->setStretchLastSection(true);
}

void ProblemTable::showBad(const std::vector<BadRecord>& records) {
  setRowCount(static_cast<int>(records.size()));
  for (int row = 0; row < rowCount(); ++row) {
    const BadRecord& record = records[static_cast<std::size_t>(row)];
    const QString file = QString::fromStdString(record.file);
    const QStringList texts{QFileInfo(file).fileName(), formatThousands(record.line),
                            QString::fromStdString(record.cause)};
    for (int column = 0; column < columnCount(); ++column) {
      auto* item = new QTableWidgetItem(texts[column]);
      item->setToolTip(column == 0 ? file : texts[column]);
      item->setTextAlignment(Qt::AlignVCenter | (column == 1 ? Qt::AlignRight : Qt::AlignLeft));
      item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
      setItem(row, column, item);
    }
  }
}

}  // namespace athanor
