// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/alive_list.h"

#include <QPainter>
#include <algorithm>

#include "widgets/format.h"
#include "widgets/number_label.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kLine_px = 18;
constexpr int kGap_px = 12;
constexpr int kLeastLines = 4;
constexpr int kUsualLines = 7;
constexpr int kTipRows = 20;

}  // namespace

AliveList::AliveList(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Expanding);
  setAccessibleName(tr("What memory holds"));
}

void AliveList::setContent(const QString& heading, const QVector<AliveRow>& rows) {
  m_heading = heading;
  m_rows = rows;
  QStringList words{heading};
  for (const AliveRow& row : rows.mid(0, kTipRows))
    words << row.name + ' ' + formatBytes(row.bytes);
  setAccessibleDescription(words.join(", "));
  setToolTip(words.join('\n'));
  update();
}

QSize AliveList::sizeHint() const {
  return {260, kUsualLines * kLine_px};
}

QSize AliveList::minimumSizeHint() const {
  return {200, kLeastLines * kLine_px};
}

void AliveList::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!isEnabled()) painter.setOpacity(0.55);
  painter.setFont(themedFont(FontRole::emphasis));
  painter.setPen(theme().text);
  painter.drawText(QRect(0, 0, width(), kLine_px), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(m_heading, Qt::ElideRight, width()));
  const int room = height() / kLine_px - 1;
  const int all = static_cast<int>(m_rows.size());
  const int shown = all <= room ? all : std::max(0, room - 1);
  painter.setFont(themedFont(FontRole::note));
  for (int i = 0; i < shown; ++i)
    paintRow(painter, 1 + i, m_rows[i], false);
  if (shown == all) return;
  AliveRow rest{tr("%1 more").arg(all - shown), 0};
  for (int i = shown; i < all; ++i)
    rest.bytes += m_rows[i].bytes;
  paintRow(painter, 1 + shown, rest, true);
}

void AliveList::paintRow(QPainter& painter, int line, const AliveRow& row, bool rest) const {
  const QFontMetricsF metrics(painter.font(), this);
  const QString figure = formatBytes(row.bytes);
  const double wide = tabularWidth(figure, metrics);
  const double top = line * kLine_px + (kLine_px - metrics.height()) / 2;
  painter.setPen(theme().muted);
  drawTabular(painter, {width() - wide, top + metrics.ascent()}, figure);
  painter.setPen(rest ? theme().muted : theme().text);
  const int left = width() - static_cast<int>(wide) - kGap_px;
  painter.drawText(QRect(0, line * kLine_px, left, kLine_px), Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(row.name, Qt::ElideRight, left));
}

}  // namespace athanor
