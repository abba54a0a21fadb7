// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Cells of the table of runs: the curve's swatch before the name, the state as icon and word.

#include <QStyledItemDelegate>

namespace athanor {

class RunDelegate : public QStyledItemDelegate {
  Q_OBJECT
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;
};

}  // namespace athanor
