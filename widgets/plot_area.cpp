// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_area.h"

#include <algorithm>
#include <cmath>

#include "widgets/theme.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr double kWheelStep = 0.8;
constexpr double kPanShare = 0.1;
constexpr double kLeastSpan = 4;
constexpr int kDragStart_px = 4;
constexpr int kLeft_px = 44;

}  // namespace

PlotArea::PlotArea(QWidget* parent)
    : QCustomPlot(parent), m_xTicker(new XTicker), m_yTicker(new YTicker) {
  addLayer("marks", layer("main"), QCustomPlot::limAbove);
  addLayer("crosshair", layer("marks"), QCustomPlot::limAbove);
  // Its own buffer: moving the crosshair does not draw the curves again.
  layer("crosshair")->setMode(QCPLayer::lmBuffered);
  // Both belong to the plot, which deletes its layerables.
  m_crosshair = new PlotCrosshair(this, "crosshair");
  m_marks = new PlotMarks(this, "marks");
  setNotAntialiasedElements(QCP::aeGrid | QCP::aeAxes);
  setAntialiasedElement(QCP::aePlottables);
  setPlottingHint(QCP::phFastPolylines);
  xAxis->setTicker(m_xTicker);
  yAxis->setTicker(m_yTicker);
  m_xTicker->setTickCount(6);
  m_yTicker->setTickCount(5);
  xAxis->grid()->setVisible(false);
  yAxis->setBasePen(Qt::NoPen);
  yAxis->setTickPen(Qt::NoPen);
  axisRect()->setAutoMargins(QCP::msNone);
  setLabelRoom(true, 16);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  applyTheme();
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, [this] {
    applyTheme();
    emit themeApplied();
  });
}

void PlotArea::applyTheme() {
  setBackground(QBrush(theme().surface));
  styleAxis(xAxis);
  styleAxis(yAxis);
  yAxis->setBasePen(Qt::NoPen);
  yAxis->setTickPen(Qt::NoPen);
}

void PlotArea::styleAxis(QCPAxis* axis) {
  axis->setBasePen(QPen(theme().border, 1));
  axis->setTickPen(QPen(theme().border, 1));
  axis->setTickLength(0, 4);
  axis->setTickLabelColor(theme().muted);
  axis->setTickLabelFont(themedFont(FontRole::axis));
  axis->setTickLabelPadding(4);
  // Otherwise "4e-4" would become a raised power.
  axis->setNumberFormat("g");
  axis->grid()->setPen(QPen(theme().grid, 1));
  axis->grid()->setZeroLinePen(Qt::NoPen);
}

void PlotArea::setAxis(PlotAxis axis) {
  m_axis = axis;
  m_xTicker->setAxis(axis);
}

void PlotArea::setLogY(bool log) {
  m_log = log;
  m_yTicker->setLog(log);
  yAxis->setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
}

void PlotArea::setTickCountY(int count) {
  m_yTicker->setTickCount(count);
}

void PlotArea::setLabelRoom(bool xLabels, int right_px) {
  axisRect()->setMargins(QMargins(kLeft_px, 10, right_px, xLabels ? 26 : 8));
  xAxis->setTickLabels(xLabels);
  xAxis->setTicks(xLabels);
}

void PlotArea::setTickLabelsShown(bool shown) {
  yAxis->setTickLabels(shown);
  xAxis->setTickLabels(shown && xAxis->ticks());
}

void PlotArea::setXRange(double low, double high) {
  xAxis->setRange(low, high);
}

void PlotArea::setYRange(const ValueRange& range) {
  if (range.empty) {
    yAxis->setRange(m_log ? 1 : 0, m_log ? 10 : 1);
    return;
  }
  yAxis->setRange(snappedRange(range.low, range.high, m_log));
}

PlotWindow PlotArea::window() const {
  PlotWindow window;
  window.axis = m_axis;
  window.low = xAxis->range().lower;
  window.high = xAxis->range().upper;
  window.columns = std::max(16, axisRect()->width());
  window.log_y = m_log;
  return window;
}

QCPGraph* PlotArea::addCurve() {
  QCPGraph* curve = addGraph();
  curve->setAdaptiveSampling(true);
  return curve;
}

void PlotArea::replotCrosshair() {
  layer("crosshair")->replot();
}

void PlotArea::replotSoon() {
  replot(QCustomPlot::rpQueuedReplot);
}

void PlotArea::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  m_dragFrom = event->position();
  m_dragRange = xAxis->range();
  m_dragged = false;
}

void PlotArea::mouseMoveEvent(QMouseEvent* event) {
  if (m_dragFrom.has_value()) {
    const double moved = event->position().x() - m_dragFrom->x();
    if (!m_dragged && std::fabs(moved) < kDragStart_px) return;
    m_dragged = true;
    const double shift = -moved * m_dragRange.size() / std::max(1, axisRect()->width());
    emit xRangeChosen(m_dragRange.lower + shift, m_dragRange.upper + shift);
    return;
  }
  const bool onCheckpoint = m_marks->checkpointAt(event->position()) >= 0;
  setCursor(onCheckpoint ? Qt::PointingHandCursor : Qt::ArrowCursor);
  const bool inside = axisRect()->rect().contains(event->position().toPoint());
  emit crosshairMoved(inside ? std::optional(xAxis->pixelToCoord(event->position().x()))
                             : std::nullopt);
}

void PlotArea::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const int checkpoint = m_marks->checkpointAt(event->position());
  if (m_dragFrom.has_value() && !m_dragged && checkpoint >= 0) emit checkpointChosen(checkpoint);
  m_dragFrom.reset();
}

void PlotArea::mouseDoubleClickEvent(QMouseEvent*) {
  emit followChosen();
}

void PlotArea::wheelEvent(QWheelEvent* event) {
  if (event->angleDelta().y() == 0) {
    event->ignore();
    return;
  }
  zoom(std::pow(kWheelStep, event->angleDelta().y() / 120.0),
       xAxis->pixelToCoord(event->position().x()));
  event->accept();
}

void PlotArea::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      pan(-kPanShare);
      return;
    case Qt::Key_Right:
      pan(kPanShare);
      return;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(kWheelStep, xAxis->range().center());
      return;
    case Qt::Key_Minus:
      zoom(1 / kWheelStep, xAxis->range().center());
      return;
    case Qt::Key_Home:
      emit followChosen();
      return;
    default:
      QCustomPlot::keyPressEvent(event);
  }
}

void PlotArea::leaveEvent(QEvent* event) {
  QCustomPlot::leaveEvent(event);
  emit crosshairMoved(std::nullopt);
}

void PlotArea::resizeEvent(QResizeEvent* event) {
  QCustomPlot::resizeEvent(event);
  emit resized();
}

void PlotArea::zoom(double factor, double centre) {
  const QCPRange range = xAxis->range();
  if (range.size() * factor < kLeastSpan && factor < 1) return;
  emit xRangeChosen(centre - (centre - range.lower) * factor,
                    centre + (range.upper - centre) * factor);
}

void PlotArea::pan(double share) {
  const QCPRange range = xAxis->range();
  emit xRangeChosen(range.lower + share * range.size(), range.upper + share * range.size());
}

}  // namespace athanor
