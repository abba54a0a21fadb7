// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/comparison_table.h"

#include <QHeaderView>

#include "widgets/format.h"

namespace athanor {
namespace {

constexpr int kRow_px = 28;

QTableWidgetItem* cell(const QString& text, bool number) {
  auto* made = new QTableWidgetItem(text);
  made->setTextAlignment(Qt::AlignVCenter | (number ? Qt::AlignRight : Qt::AlignLeft));
  made->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
  return made;
}

}  // namespace

ComparisonTable::ComparisonTable(QWidget* parent) : QTableWidget(parent) {
  setAccessibleName(tr("Tokenizers beside each other"));
  setColumnCount(4);
  setHorizontalHeaderLabels(
      {tr("Tokenizer"), tr("Vocabulary"), tr("Bytes a token"), tr("Tokens a word")});
  setSelectionBehavior(QAbstractItemView::SelectRows);
  setShowGrid(false);
  setTabKeyNavigation(false);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(kRow_px);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  for (int column = 0; column < columnCount(); ++column) {
    horizontalHeaderItem(column)->setTextAlignment(Qt::AlignVCenter |
                                                   (column == 0 ? Qt::AlignLeft : Qt::AlignRight));
  }
}

void ComparisonTable::add(const ComparedTokenizer& tokenizer) {
  int row = 0;
  while (row < rowCount() && item(row, 0)->text() != tokenizer.name)
    ++row;
  if (row == rowCount()) insertRow(row);
  const bool good = tokenizer.problem.isEmpty();
  const TokenizerMeasure& measure = tokenizer.measure;
  setItem(row, 0, cell(tokenizer.name, false));
  setItem(row, 1, cell(good ? formatThousands(measure.vocabulary_size) : noValue(), true));
  setItem(row, 2, cell(good ? formatFixed(measure.bytes_per_token(), 2) : noValue(), true));
  setItem(row, 3, cell(good ? formatFixed(measure.tokens_per_word(), 2) : noValue(), true));
  for (int column = 0; column < columnCount(); ++column)
    item(row, column)->setToolTip(tokenizer.problem);
}

}  // namespace athanor
