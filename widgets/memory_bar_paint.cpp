// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/memory_bar_paint.h"

#include <QPainter>

#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kHatch_px = 7;

/// Parallel lines clipped to the area; `rise` is +1 for 45° and −1 for −45°.
void hatch(QPainter& painter, const QRect& area, const QColor& colour, qreal line_px, int rise) {
  painter.save();
  painter.setClipRect(area);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(colour, line_px, Qt::SolidLine, Qt::FlatCap));
  const int h = area.height();
  for (int x = area.left() - h - kHatch_px; x <= area.right() + h + kHatch_px; x += kHatch_px) {
    painter.drawLine(QPointF(x, rise > 0 ? area.bottom() + 2 : area.top() - 1),
                     QPointF(x + h + 2, rise > 0 ? area.top() - 1 : area.bottom() + 2));
  }
  painter.restore();
}

}  // namespace

void paintReserve(QPainter& painter, const QRect& area) {
  painter.fillRect(area, theme().raised);
  hatch(painter, area, theme().muted, 2, 1);
}

void paintOthers(QPainter& painter, const QRect& area) {
  painter.fillRect(area, theme().raised);
  hatch(painter, area, theme().border, 2.5, -1);
}

void paintExcess(QPainter& painter, const QRect& area) {
  if (area.width() <= 0) return;
  hatch(painter, area, theme().surface, 2.4, 1);
  painter.save();
  painter.setPen(QPen(theme().danger, 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(area).adjusted(1, 1, -1, -1));
  painter.restore();
}

void paintSwatch(QPainter& painter, const QRect& area, const QColor& colour) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  painter.drawRoundedRect(area, 2, 2);
  painter.restore();
}

double memoryScaleStep_gib(double total_gib) {
  double step = 0.0625;
  while (total_gib / step > 6)
    step *= 2;
  return step;
}

}  // namespace athanor
