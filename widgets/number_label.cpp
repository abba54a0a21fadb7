// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/number_label.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

namespace athanor {
namespace {

qreal widestDigit(const QFontMetricsF& metrics) {
  qreal widest = 0;
  for (char digit = '0'; digit <= '9'; ++digit) {
    widest = std::max(widest, metrics.horizontalAdvance(QChar(digit)));
  }
  return widest;
}

/// Each digit by itself, and what stands between digits in one piece, so that words keep their
/// kerning.
template <typename Visit>
void forEachRun(const QString& text, Visit visit) {
  for (qsizetype i = 0; i < text.size();) {
    qsizetype end = i + 1;
    while (!text[i].isDigit() && end < text.size() && !text[end].isDigit())
      ++end;
    visit(text.mid(i, end - i));
    i = end;
  }
}

}  // namespace

qreal tabularWidth(const QString& text, const QFontMetricsF& metrics) {
  const qreal digit = widestDigit(metrics);
  qreal width = 0;
  forEachRun(text, [&](const QString& run) {
    width += run[0].isDigit() ? digit : metrics.horizontalAdvance(run);
  });
  return width;
}

void drawTabular(QPainter& painter, const QPointF& baseline, const QString& text) {
  const QFontMetricsF metrics(painter.font(), painter.device());
  const qreal digit = widestDigit(metrics);
  qreal x = baseline.x();
  forEachRun(text, [&](const QString& run) {
    const qreal own = metrics.horizontalAdvance(run);
    const qreal cell = run[0].isDigit() ? digit : own;
    painter.drawText(QPointF(x + (cell - own) / 2, baseline.y()), run);
    x += cell;
  });
}

NumberLabel::NumberLabel(const QString& text, FontRole role, QWidget* parent)
    : QLabel(text, parent) {
  setTextFormat(Qt::PlainText);
  setFont(themedFont(role));
}

QSize NumberLabel::sizeHint() const {
  const QFontMetricsF metrics(font(), this);
  const QMargins m = contentsMargins();
  return {static_cast<int>(std::ceil(tabularWidth(text(), metrics))) + m.left() + m.right(),
          static_cast<int>(std::ceil(metrics.height())) + m.top() + m.bottom()};
}

QSize NumberLabel::minimumSizeHint() const {
  return sizeHint();
}

void NumberLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(font());
  painter.setPen(palette().color(foregroundRole()));
  const QFontMetricsF metrics(font(), this);
  const QRectF area = contentsRect();
  const qreal width = tabularWidth(text(), metrics);
  qreal x = area.left();
  if (alignment() & Qt::AlignRight) x = area.right() - width;
  if (alignment() & Qt::AlignHCenter) x = area.center().x() - width / 2;
  const qreal y = area.top() + (area.height() - metrics.height()) / 2 + metrics.ascent();
  drawTabular(painter, QPointF(x, y), text());
}

}  // namespace athanor
