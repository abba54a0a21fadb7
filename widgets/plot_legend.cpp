// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_legend.h"

#include <QPainter>
#include <cmath>

#include "widgets/icons.h"
#include "widgets/number_label.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kSwatch_px = 18;
constexpr int kGap_px = 16;
constexpr double kShadow = 0.5;

QString byAxis(PlotAxis axis) {
  switch (axis) {
    case PlotAxis::step:
      return PlotLegend::tr("by step");
    case PlotAxis::tokens:
      return PlotLegend::tr("by tokens");
    case PlotAxis::time:
      return PlotLegend::tr("by time");
  }
  return {};
}

}  // namespace

PlotLegend::PlotLegend(const QString& title, QWidget* parent) : QWidget(parent), m_title(title) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void PlotLegend::setTitle(const QString& title) {
  m_title = title;
  update();
}

void PlotLegend::setAxis(PlotAxis axis) {
  m_axis = axis;
  update();
}

void PlotLegend::setXName(const QString& name) {
  m_xName = name;
  update();
}

QString PlotLegend::by() const {
  return m_xName.isEmpty() ? byAxis(m_axis) : m_xName;
}

QString PlotLegend::heading() const {
  return m_title + ' ' + by();
}

void PlotLegend::setEntries(const QVector<LegendEntry>& entries) {
  m_entries = entries;
  QStringList words;
  for (const LegendEntry& entry : entries)
    words << entry.name + ' ' + entry.value;
  setAccessibleDescription(words.join(", "));
  update();
}

void PlotLegend::setNote(const QString& note) {
  m_note = note;
  update();
}

void PlotLegend::setWarning(const QString& warning) {
  m_warning = warning;
  setToolTip(warning);
  update();
}

void PlotLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const int limit = paintRight(painter) - kGap_px;
  painter.setFont(themedFont(FontRole::emphasis));
  painter.setPen(theme().text);
  painter.drawText(rect(), Qt::AlignVCenter, m_title);
  int x = painter.fontMetrics().horizontalAdvance(m_title + ' ');
  painter.setFont(themedFont(FontRole::note));
  painter.setPen(theme().muted);
  painter.drawText(rect().adjusted(x, 0, 0, 0), Qt::AlignVCenter, by());
  x += painter.fontMetrics().horizontalAdvance(by()) + kGap_px + 4;
  for (const LegendEntry& entry : m_entries) {
    x = paintEntry(painter, entry, x, limit);
    if (x < 0) return;
  }
}

/// Returns where it begins.
int PlotLegend::paintRight(QPainter& painter) const {
  const bool warned = !m_warning.isEmpty();
  const QFontMetricsF metrics(themedFont(FontRole::note), this);
  const QString text =
      warned ? metrics.elidedText(m_warning, Qt::ElideRight, width() * 0.5) : m_note;
  const int left = width() - static_cast<int>(std::ceil(tabularWidth(text, metrics)));
  painter.setFont(themedFont(FontRole::note));
  painter.setPen(warned ? theme().warning : theme().muted);
  drawTabular(painter, {double(left), (height() - metrics.height()) / 2 + metrics.ascent()}, text);
  if (!warned) return left;
  icon("warning", theme().warning).paint(&painter, QRect(left - 18, (height() - 14) / 2, 14, 14));
  return left - 18;
}

/// Returns where the next one begins, −1 when this one had no room.
int PlotLegend::paintEntry(QPainter& painter, const LegendEntry& entry, int x, int limit) const {
  const QString text = entry.value.isEmpty() ? entry.name : entry.name + ' ' + entry.value;
  const QFontMetricsF metrics(painter.font(), this);
  const int end = x + kSwatch_px + 6 + static_cast<int>(std::ceil(tabularWidth(text, metrics)));
  if (end > limit) return -1;
  const bool shadow = entry.kind == LegendEntry::Kind::shadow;
  QColor colour = seriesStyle(entry.series).colour;
  if (shadow) colour = mixed(colour, theme().surface, kShadow);
  const double y = height() / 2.0;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(colour, shadow ? 1.2 : 2));
  painter.drawLine(QPointF(x, y), QPointF(x + kSwatch_px, y));
  painter.setBrush(colour);
  if (entry.kind == LegendEntry::Kind::dotted) {
    painter.drawEllipse(QPointF(x + kSwatch_px / 2.0, y), 2.5, 2.5);
  }
  painter.restore();
  painter.setPen(shadow ? theme().muted : theme().text);
  drawTabular(painter,
              {double(x + kSwatch_px + 6), (height() - metrics.height()) / 2 + metrics.ascent()},
              text);
  return end + kGap_px;
}

}  // namespace athanor
