// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/history_gauge.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "widgets/icons.h"
#include "widgets/number_label.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr double kSpan_s = 600;
constexpr int kHeader_px = 22;
constexpr int kArea_px = 34;
constexpr double kFill = 0.22;

}  // namespace

HistoryGauge::HistoryGauge(const QString& name, double minimum, double maximum, int series,
                           QWidget* parent)
    : QWidget(parent), m_name(name), m_minimum(minimum), m_maximum(maximum), m_series(series) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  updateAccessible();
}

void HistoryGauge::setScale(double minimum, double maximum) {
  m_minimum = minimum;
  m_maximum = maximum;
  update();
}

void HistoryGauge::append(const GaugeSample& sample) {
  m_samples << sample;
  const double oldest = sample.seconds - kSpan_s;
  const auto kept = std::find_if(m_samples.begin(), m_samples.end(),
                                 [&](const GaugeSample& s) { return s.seconds >= oldest; });
  m_samples.erase(m_samples.begin(), kept);
  update();
}

void HistoryGauge::clear() {
  m_samples.clear();
  m_valueText.clear();
  m_warning.clear();
  updateAccessible();
  update();
}

void HistoryGauge::setValueText(const QString& text) {
  m_valueText = text;
  updateAccessible();
  update();
}

void HistoryGauge::setWarning(const QString& reason) {
  m_warning = reason;
  updateAccessible();
  update();
}

QSize HistoryGauge::sizeHint() const {
  return {240, kHeader_px + kArea_px};
}

QSize HistoryGauge::minimumSizeHint() const {
  return {160, kHeader_px + kArea_px};
}

void HistoryGauge::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paintHeader(painter);
  const QRectF area(0, kHeader_px, width(), kArea_px);
  painter.fillRect(area, theme().background);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setClipRect(area);
  paintArea(painter, area);
}

void HistoryGauge::paintHeader(QPainter& painter) const {
  painter.setFont(themedFont(FontRole::body));
  painter.setPen(theme().text);
  const QRect header(0, 0, width(), kHeader_px - 2);
  painter.drawText(header, Qt::AlignVCenter, m_name);
  const bool warned = !m_warning.isEmpty();
  const QString text = warned ? m_valueText + ", " + m_warning : m_valueText;
  const QFontMetricsF metrics(painter.font(), this);
  const qreal x = width() - tabularWidth(text, metrics);
  if (warned) {
    painter.setPen(theme().warning);
    icon("warning", theme().warning)
        .paint(&painter, QRect(static_cast<int>(x) - 20, (header.height() - 14) / 2, 14, 14));
  }
  drawTabular(painter, {x, (header.height() - metrics.height()) / 2 + metrics.ascent()}, text);
}

void HistoryGauge::paintArea(QPainter& painter, const QRectF& area) const {
  if (m_samples.isEmpty() || m_maximum <= m_minimum) return;
  const double end = m_samples.back().seconds;
  const QColor colour = seriesStyle(m_series).colour;
  QColor fill = colour;
  fill.setAlphaF(kFill);
  QPolygonF line;
  const auto flush = [&] {
    if (line.size() > 1) {
      QPolygonF shape = line;
      shape << QPointF(line.back().x(), area.bottom()) << QPointF(line.front().x(), area.bottom());
      painter.setPen(Qt::NoPen);
      painter.setBrush(fill);
      painter.drawPolygon(shape);
      painter.setPen(QPen(colour, 1.4));
      painter.drawPolyline(line);
    }
    line.clear();
  };
  for (const GaugeSample& sample : m_samples) {
    if (!std::isfinite(sample.value)) {
      flush();
      continue;
    }
    const double share = std::clamp((sample.value - m_minimum) / (m_maximum - m_minimum), 0.0, 1.0);
    line << QPointF(area.right() - (end - sample.seconds) / kSpan_s * area.width(),
                    area.bottom() - share * (area.height() - 1.5));
  }
  flush();
}

void HistoryGauge::updateAccessible() {
  setAccessibleName(m_name);
  setAccessibleDescription(m_warning.isEmpty() ? m_valueText : m_valueText + ", " + m_warning);
}

}  // namespace athanor
