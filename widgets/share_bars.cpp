// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/share_bars.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "widgets/format.h"
#include "widgets/number_label.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kRow_px = 20;
constexpr int kGap_px = 8;
constexpr int kFigure_px = 60;

}  // namespace

ShareBars::ShareBars(const QString& name, QWidget* parent) : QWidget(parent) {
  setAccessibleName(name);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void ShareBars::setRows(const QVector<ShareRow>& rows) {
  m_rows = rows;
  QStringList words;
  for (const ShareRow& row : rows)
    words << row.name + ' ' + formatPercent(row.share);
  setAccessibleDescription(words.join(", "));
  updateGeometry();
  update();
}

QSize ShareBars::sizeHint() const {
  return {320, std::max(1, static_cast<int>(m_rows.size())) * kRow_px};
}

QSize ShareBars::minimumSizeHint() const {
  return {220, sizeHint().height()};
}

void ShareBars::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFontMetrics words = fontMetrics();
  const QFontMetricsF metrics(font(), this);
  int nameWidth = 0;
  double largest = 0;
  for (const ShareRow& row : m_rows) {
    nameWidth = std::max(nameWidth, words.horizontalAdvance(row.name));
    if (std::isfinite(row.share)) largest = std::max(largest, row.share);
  }
  const int left = nameWidth + kGap_px;
  const int room = std::max(1, width() - left - kFigure_px);
  for (int i = 0; i < m_rows.size(); ++i) {
    const ShareRow& row = m_rows[i];
    const int y = i * kRow_px;
    painter.setPen(theme().text);
    painter.drawText(QRect(0, y, nameWidth, kRow_px), Qt::AlignVCenter, row.name);
    if (largest > 0 && row.share > 0 && std::isfinite(row.share)) {
      const int wide = std::max(2, static_cast<int>(std::lround(row.share / largest * room)));
      painter.fillRect(QRect(left, y + 6, wide, 8), seriesStyle(row.series).colour);
    }
    const QString figure = formatPercent(row.share);
    drawTabular(painter,
                {width() - tabularWidth(figure, metrics),
                 y + (kRow_px - metrics.height()) / 2 + metrics.ascent()},
                figure);
  }
}

}  // namespace athanor
