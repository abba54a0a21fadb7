// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_crosshair.h"

#include <algorithm>

#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kPad_px = 10;
constexpr int kGap_px = 10;
constexpr int kColumnGap_px = 16;
constexpr int kLine_px = 18;
constexpr double kDot_px = 4;

}  // namespace

PlotCrosshair::PlotCrosshair(QCustomPlot* plot, const QString& layer) : QCPLayerable(plot, layer) {}

void PlotCrosshair::setReading(const QString& heading, const QVector<CrosshairRow>& rows) {
  m_heading = heading;
  m_rows = rows;
}

void PlotCrosshair::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(true);
}

void PlotCrosshair::draw(QCPPainter* painter) {
  if (!m_x.has_value()) return;
  const QRect area = parentPlot()->axisRect()->rect();
  const double x_px = parentPlot()->xAxis->coordToPixel(*m_x);
  if (x_px < area.left() || x_px > area.right() + 1) return;
  painter->setAntialiasing(false);
  painter->setPen(QPen(theme().muted, 1));
  painter->drawLine(QPointF(x_px, area.top()), QPointF(x_px, area.bottom()));
  painter->setAntialiasing(true);
  painter->setBrush(theme().surface);
  for (const QPointF& dot : m_dots) {
    const QPointF at(x_px, parentPlot()->yAxis->coordToPixel(dot.y()));
    if (!area.contains(at.toPoint())) continue;
    painter->setPen(QPen(theme().text, 1.6));
    painter->drawEllipse(at, kDot_px, kDot_px);
  }
  if (!m_heading.isEmpty()) drawBox(painter, x_px);
}

void PlotCrosshair::drawBox(QCPPainter* painter, double x_px) const {
  const QFontMetrics strong(themedFont(FontRole::emphasis));
  const QFontMetrics plain(themedFont(FontRole::note));
  int names = 0;
  int values = 0;
  for (const CrosshairRow& row : m_rows) {
    names = std::max(names, plain.horizontalAdvance(row.name));
    values = std::max(values, plain.horizontalAdvance(row.value));
  }
  const int inner = std::max(strong.horizontalAdvance(m_heading), names + kColumnGap_px + values);
  const int height = 2 * kPad_px + kLine_px * (1 + static_cast<int>(m_rows.size()));
  const QRect area = parentPlot()->axisRect()->rect();
  const int width = inner + 2 * kPad_px;
  // At the right edge the box flips to the other side of the line.
  double left = x_px + kGap_px;
  if (left + width > area.right()) left = std::max<double>(area.left(), x_px - kGap_px - width);
  const QRectF box(left, area.top() + 8, width, height);
  painter->setPen(QPen(theme().edge, 1));
  painter->setBrush(theme().raised);
  painter->drawRoundedRect(box, 4, 4);
  QRectF line(box.left() + kPad_px, box.top() + kPad_px, inner, kLine_px);
  painter->setFont(themedFont(FontRole::emphasis));
  painter->setPen(theme().text);
  painter->drawText(line, Qt::AlignVCenter, m_heading);
  painter->setFont(themedFont(FontRole::note));
  for (const CrosshairRow& row : m_rows) {
    line.translate(0, kLine_px);
    painter->setPen(theme().muted);
    painter->drawText(line, Qt::AlignVCenter, row.name);
    painter->setPen(theme().text);
    painter->drawText(line.adjusted(names + kColumnGap_px, 0, 0, 0), Qt::AlignVCenter, row.value);
  }
}

}  // namespace athanor
