// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/step_card.h"

#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QVBoxLayout>
#include <array>
#include <cmath>

#include "widgets/icons.h"
#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr int kPicture_px = 112;

}  // namespace

StepCard::StepCard(Picture picture, const QString& title, const QString& text, QWidget* parent)
    : QFrame(parent), m_picture(picture) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(16, kPicture_px + 12, 16, 12);
  layout->setSpacing(4);
  layout->addWidget(makeLabel(title, FontRole::emphasis));
  layout->addWidget(makeSentence(text, FontRole::body, Tone::muted));
  layout->addStretch(1);
  setMinimumHeight(196);
}

void StepCard::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF outline = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
  QPainterPath shape;
  shape.addRoundedRect(outline, 6, 6);
  painter.fillPath(shape, t.surface);
  painter.save();
  painter.setClipPath(shape);
  painter.fillRect(QRectF(0, 0, width(), kPicture_px), t.background);
  painter.restore();
  painter.setPen(QPen(t.border, 1));
  painter.drawLine(QPointF(0, kPicture_px + 0.5), QPointF(width(), kPicture_px + 0.5));
  painter.drawPath(shape);
  const QRectF area(18, 14, width() - 36, kPicture_px - 28);
  switch (m_picture) {
    case Picture::curve:
      return paintCurve(painter, area);
    case Picture::talk:
      return paintTalk(painter, area);
    case Picture::plan:
      return paintPlan(painter, area);
  }
}

void StepCard::paintCurve(QPainter& painter, const QRectF& area) const {
  painter.setFont(themedFont(FontRole::axis));
  constexpr int kLines = 4;
  for (int i = 0; i < kLines; ++i) {
    const qreal y = area.top() + i * area.height() / (kLines - 1);
    painter.setPen(QPen(i == kLines - 1 ? theme().border : theme().grid, 1));
    painter.drawLine(QPointF(area.left() + 20, y), QPointF(area.right(), y));
    painter.setPen(theme().muted);
    if (i < kLines - 1) {
      painter.drawText(QRectF(area.left(), y - 8, 12, 16), Qt::AlignRight | Qt::AlignVCenter,
                       QString::number(6 - 2 * i));
    }
  }
  QPainterPath curve;
  const qreal width_px = (area.width() - 20) * 0.72;
  for (int i = 0; i <= 60; ++i) {
    const qreal x = i / 60.0;
    const qreal y = area.top() + 4 + (area.height() - 16) * (1 - std::exp(-4.2 * x));
    const QPointF point(area.left() + 20 + x * width_px, y);
    if (i == 0) {
      curve.moveTo(point);
    } else {
      curve.lineTo(point);
    }
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(seriesStyle(1).colour, 2.2));
  painter.drawPath(curve);
}

void StepCard::paintTalk(QPainter& painter, const QRectF& area) const {
  painter.setFont(themedFont(FontRole::note));
  const QFontMetricsF metrics(painter.font());
  const QString said = tr("Once upon a time");
  const qreal bubble = metrics.horizontalAdvance(said) + 24;
  const QRectF box(area.right() - bubble, area.top() + 2, bubble, 28);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme().raised);
  painter.drawRoundedRect(box, 8, 8);
  painter.setPen(theme().text);
  painter.drawText(box, Qt::AlignCenter, said);
  const QString first = tr("there was a little fox who wanted");
  const QString second = tr("to see the snow. Her mother said");
  painter.drawText(QPointF(area.left(), area.top() + 52), first);
  painter.drawText(QPointF(area.left(), area.top() + 70), second);
  painter.fillRect(
      QRectF(area.left() + metrics.horizontalAdvance(second) + 4, area.top() + 57, 2, 16),
      theme().accent);
}

void StepCard::paintPlan(QPainter& painter, const QRectF& area) const {
  struct Part {
    int series;
    qreal share;
  };
  constexpr std::array<Part, 6> kParts{
      {{2, 0.12}, {3, 0.12}, {5, 0.23}, {1, 0.24}, {7, 0.03}, {8, 0.04}}};
  const QRectF bar(area.left(), area.top() + 22, area.width(), 22);
  painter.fillRect(bar, theme().raised);
  qreal x = bar.left();
  for (const Part& part : kParts) {
    const qreal width_px = part.share * bar.width();
    painter.fillRect(QRectF(x, bar.top(), width_px - 1, bar.height()),
                     seriesStyle(part.series).colour);
    x += width_px;
  }
  painter.fillRect(QRectF(bar.right() - 18, bar.top() - 6, 2, bar.height() + 12), theme().text);
  icon("check", Tone::success)
      .paint(&painter, QRectF(bar.left(), bar.bottom() + 14, 14, 14).toRect());
  painter.setFont(themedFont(FontRole::note));
  painter.setPen(theme().success);
  painter.drawText(QPointF(bar.left() + 20, bar.bottom() + 25), tr("Fits"));
}

}  // namespace athanor
