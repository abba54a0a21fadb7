// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_marks.h"

#include <algorithm>
#include <cmath>

#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr double kTriangleWidth_px = 8;
constexpr double kTriangleHeight_px = 7;
constexpr double kReach_px = 12;
constexpr double kCross_px = 4;
constexpr double kPeak_px = 3.5;
constexpr double kBandFill = 0.22;
constexpr double kLabelHeight_px = 16;
constexpr double kLabelGround = 0.8;

}  // namespace

PlotMarks::PlotMarks(QCustomPlot* plot, const QString& layer) : QCPLayerable(plot, layer) {}

int PlotMarks::checkpointAt(const QPointF& position) const {
  const QRect area = parentPlot()->axisRect()->rect();
  if (std::fabs(position.y() - area.bottom()) > kReach_px) return -1;
  int best = -1;
  double nearest = kReach_px;
  for (int i = 0; i < m_markings.checkpoints.size(); ++i) {
    const double x = parentPlot()->xAxis->coordToPixel(m_markings.checkpoints[i]);
    const double distance = std::fabs(x - position.x());
    if (x < area.left() - 1 || x > area.right() + 1 || distance > nearest) continue;
    nearest = distance;
    best = i;
  }
  return best;
}

void PlotMarks::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(true);
}

QPointF PlotMarks::pixel(const QPointF& at) const {
  return {parentPlot()->xAxis->coordToPixel(at.x()), parentPlot()->yAxis->coordToPixel(at.y())};
}

void PlotMarks::draw(QCPPainter* painter) {
  drawBand(painter);
  drawResumes(painter);
  drawCheckpoints(painter);
  drawGaps(painter);
  drawEndLabels(painter);
  drawPeak(painter);
  if (m_markings.emptyText.isEmpty()) return;
  painter->setFont(themedFont(FontRole::body));
  painter->setPen(theme().muted);
  painter->drawText(parentPlot()->axisRect()->rect(), Qt::AlignCenter | Qt::TextWordWrap,
                    m_markings.emptyText);
}

void PlotMarks::drawBand(QCPPainter* painter) const {
  if (!m_markings.forecast.has_value()) return;
  const PlotMarkings::Band& band = *m_markings.forecast;
  QColor fill = seriesStyle(band.series).colour;
  fill.setAlphaF(kBandFill);
  painter->save();
  painter->setClipRect(parentPlot()->axisRect()->rect());
  painter->setPen(Qt::NoPen);
  painter->setBrush(fill);
  painter->drawPolygon(
      QPolygonF{{pixel(band.from), pixel({band.x, band.high}), pixel({band.x, band.low})}});
  painter->restore();
}

void PlotMarks::drawCheckpoints(QCPPainter* painter) const {
  const QRect area = parentPlot()->axisRect()->rect();
  painter->setPen(Qt::NoPen);
  painter->setBrush(theme().text);
  for (const double checkpoint : m_markings.checkpoints) {
    const double x = parentPlot()->xAxis->coordToPixel(checkpoint);
    if (x < area.left() - 1 || x > area.right() + 1) continue;
    const double foot = area.bottom();
    painter->drawPolygon(QPolygonF{{{x - kTriangleWidth_px / 2, foot},
                                    {x + kTriangleWidth_px / 2, foot},
                                    {x, foot - kTriangleHeight_px}}});
  }
}

void PlotMarks::drawResumes(QCPPainter* painter) const {
  const QRect area = parentPlot()->axisRect()->rect();
  QPen pen(theme().warning, 1.2);
  pen.setDashPattern({4, 3});
  painter->setFont(themedFont(FontRole::axis));
  for (const PlotMarkings::Resume& resume : m_markings.resumes) {
    const double x = parentPlot()->xAxis->coordToPixel(resume.x);
    if (x < area.left() || x > area.right()) continue;
    painter->setPen(pen);
    painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    if (resume.label.isEmpty()) continue;
    painter->setPen(theme().warning);
    const double room = area.right() - x - 6;
    const bool right = painter->fontMetrics().horizontalAdvance(resume.label) <= room;
    const QRectF place = right ? QRectF(x + 6, area.top() - 2, room, 16)
                               : QRectF(area.left(), area.top() - 2, x - 6 - area.left(), 16);
    painter->drawText(place, Qt::AlignVCenter | (right ? Qt::AlignLeft : Qt::AlignRight),
                      resume.label);
  }
}

void PlotMarks::drawGaps(QCPPainter* painter) const {
  const QRect area = parentPlot()->axisRect()->rect();
  painter->setPen(QPen(theme().danger, 1.6, Qt::SolidLine, Qt::RoundCap));
  for (const QPointF& gap : m_markings.gaps) {
    const double x = parentPlot()->xAxis->coordToPixel(gap.x());
    if (x < area.left() || x > area.right()) continue;
    const double wanted =
        std::isfinite(gap.y()) ? parentPlot()->yAxis->coordToPixel(gap.y()) : area.top();
    const double y = std::clamp<double>(wanted, area.top() + kCross_px, area.bottom() - kCross_px);
    painter->drawLine(QPointF(x - kCross_px, y - kCross_px), QPointF(x + kCross_px, y + kCross_px));
    painter->drawLine(QPointF(x - kCross_px, y + kCross_px), QPointF(x + kCross_px, y - kCross_px));
  }
}

void PlotMarks::drawPeak(QCPPainter* painter) const {
  if (!m_markings.peak.has_value()) return;
  const QRect area = parentPlot()->axisRect()->rect();
  const QPointF at = pixel(m_markings.peak->at);
  if (at.x() < area.left() || at.x() > area.right()) return;
  painter->setPen(QPen(theme().text, 1.6));
  painter->setBrush(theme().surface);
  painter->drawEllipse(at, kPeak_px, kPeak_px);
  painter->setFont(themedFont(FontRole::axis));
  const double width = painter->fontMetrics().horizontalAdvance(m_markings.peak->label) + 2;
  const double left = std::clamp<double>(at.x() - width / 2, area.left(),
                                         std::max(area.left() + 0.0, area.right() - width));
  const double top = std::max<double>(area.top(), at.y() - kPeak_px - 2 - kLabelHeight_px);
  const QRectF place(left, top, width, kLabelHeight_px);
  QColor ground = theme().surface;
  ground.setAlphaF(kLabelGround);
  painter->fillRect(place.adjusted(-2, 0, 2, 0), ground);
  painter->setPen(theme().text);
  painter->drawText(place, Qt::AlignCenter, m_markings.peak->label);
}

void PlotMarks::drawEndLabels(QCPPainter* painter) const {
  const QRect area = parentPlot()->axisRect()->rect();
  QFont font = themedFont(FontRole::axis);
  font.setWeight(QFont::DemiBold);
  painter->setFont(font);
  QVector<QRectF> taken;
  for (const PlotMarkings::EndLabel& label : m_markings.endLabels) {
    const QPointF end = pixel(label.at);
    const double width = painter->fontMetrics().horizontalAdvance(label.text) + 2;
    const double x = std::min<double>(end.x() + 8, parentPlot()->viewport().right() - width);
    QRectF place(x,
                 std::clamp<double>(end.y() - kLabelHeight_px / 2, area.top(),
                                    area.bottom() - kLabelHeight_px),
                 width, kLabelHeight_px);
    // Labels that would lie on one another move up.
    for (int tries = 0; tries < taken.size(); ++tries) {
      for (const QRectF& other : taken) {
        if (place.intersects(other)) place.moveBottom(other.top() - 1);
      }
    }
    taken << place;
    QColor ground = theme().surface;
    ground.setAlphaF(kLabelGround);
    painter->fillRect(place.adjusted(-2, 0, 0, 0), ground);
    painter->setPen(seriesStyle(label.series).colour);
    painter->drawText(place, Qt::AlignVCenter, label.text);
  }
}

}  // namespace athanor
