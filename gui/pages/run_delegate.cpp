// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_delegate.h"

#include <QPainter>

#include "gui/models/run_list_model.h"
#include "widgets/badge.h"
#include "widgets/icons.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kPad_px = 8;
constexpr int kSwatch_px = 26;
constexpr int kIcon_px = 14;

}  // namespace

void RunDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  // The whole row is the selection; a frame around one cell says nothing.
  option->state &= ~QStyle::State_HasFocus;
  if (index.column() != RunListModel::name && index.column() != RunListModel::state) return;
  option->features |= QStyleOptionViewItem::HasDecoration;
  option->decorationSize =
      QSize(index.column() == RunListModel::name ? kSwatch_px : kIcon_px, kIcon_px);
  if (index.column() == RunListModel::state) {
    const auto badge = static_cast<BadgeKind>(index.data(RunListModel::badgeRole).toInt());
    option->icon = icon(badgeIconName(badge), badgeTone(badge));
    option->palette.setColor(QPalette::Text, toneColour(badgeTone(badge)));
    option->palette.setColor(QPalette::HighlightedText, toneColour(badgeTone(badge)));
  }
}

void RunDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  if (index.column() != RunListModel::name) return;
  const Series& series = seriesStyle(index.data(RunListModel::seriesRole).toInt());
  QPen pen(series.colour, series.width_px, Qt::SolidLine, Qt::FlatCap);
  if (!series.dashes.isEmpty()) {
    QVector<qreal> pattern;
    for (const qreal length : series.dashes)
      pattern.push_back(length / series.width_px);
    pen.setDashPattern(pattern);
  }
  painter->save();
  painter->setPen(pen);
  const qreal y = option.rect.center().y() + 0.5;
  painter->drawLine(QPointF(option.rect.left() + kPad_px, y),
                    QPointF(option.rect.left() + kPad_px + kSwatch_px, y));
  painter->restore();
}

}  // namespace athanor
