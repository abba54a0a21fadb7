// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/loss_plot_private.h"

#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <limits>

#include "widgets/format.h"
#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr double kRawShare = 0.5;
constexpr double kTailShare = 0.4;
/// So that the dot at the last point is whole.
constexpr double kEndRoom = 0.01;
constexpr int kTrainSeries = 1;
constexpr int kValidationSeries = 2;
constexpr int kRight_px = 28;
constexpr int kRightLabelled_px = 112;

QPen seriesPen(int number, double width_px, double opacity = 1) {
  QColor colour = seriesStyle(number).colour;
  colour.setAlphaF(opacity);
  return {colour, width_px, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin};
}

QPen overlayPen(int number) {
  const Series& series = seriesStyle(number);
  QPen pen(series.colour, series.width_px, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
  if (series.dashes.isEmpty()) return pen;
  // A QPen counts its pattern in widths of the line.
  QVector<qreal> pattern;
  for (const qreal length : series.dashes)
    pattern << length / series.width_px;
  pen.setDashPattern(pattern);
  return pen;
}

void setLine(QCPGraph* graph, const PlotLine& line) {
  graph->setData(line.x, line.y, true);
}

QString counted(std::int64_t count, const QString& one, const QString& many) {
  return count == 1 ? "1 " + one : formatThousands(count) + ' ' + many;
}

}  // namespace

LossPlot::Private::Private(LossPlot* plot, const QString& title)
    : q(plot),
      legend(new PlotLegend(title, plot)),
      area(new PlotArea(plot)),
      emptyText(LossPlot::tr("The first points appear after 10 steps")) {
  auto* layout = new QVBoxLayout(plot);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(2);
  layout->addWidget(legend);
  layout->addWidget(area, 1);
  area->setAccessibleName(legend->heading());
  area->setAccessibleDescription(LossPlot::tr(
      "Left and Right move along the curve, plus and minus zoom, Home follows the newest point"));
  createCurves();
  connectArea();
}

void LossPlot::Private::connectArea() {
  connect(area, &PlotArea::xRangeChosen, q, &LossPlot::setXRange);
  connect(area, &PlotArea::followChosen, q, [this] { setFollowing(true); });
  connect(area, &PlotArea::crosshairMoved, q, &LossPlot::setCrosshair);
  connect(area, &PlotArea::resized, q, [this] { refresh(); });
  connect(area, &PlotArea::themeApplied, q, [this] {
    styleCurves();
    refresh();
  });
  connect(area, &PlotArea::checkpointChosen, q,
          [this](int index) { emit q->checkpointClicked(checkpoints.at(index).step); });
}

void LossPlot::Private::createCurves() {
  m_raw = area->addCurve();
  m_smooth = area->addCurve();
  m_validation = area->addCurve();
  styleCurves();
}

void LossPlot::Private::styleCurves() {
  m_raw->setPen(seriesPen(kTrainSeries, 1, kRawShare));
  m_smooth->setPen(seriesPen(kTrainSeries, 2.2));
  m_validation->setPen(seriesPen(kValidationSeries, 1.6));
  const QColor dot = seriesStyle(kValidationSeries).colour;
  m_validation->setScatterStyle(
      QCPScatterStyle(QCPScatterStyle::ssCircle, QPen(theme().surface, 1), dot, 6));
}

QCPGraph* LossPlot::Private::pooled(QVector<QCPGraph*>& pool, qsizetype index) {
  if (index >= pool.size()) pool << area->addCurve();
  return pool[index];
}

void LossPlot::Private::drop(QVector<QCPGraph*>& pool, qsizetype keep) {
  while (pool.size() > keep)
    area->removeGraph(pool.takeLast());
}

bool LossPlot::Private::isEmpty() const {
  if (!train.points().isEmpty() || !validation.isEmpty()) return false;
  return std::all_of(curves.begin(), curves.end(),
                     [](const PlotCurve& curve) { return curve.points.isEmpty(); });
}

double LossPlot::Private::lastX() const {
  double last = 0;
  const auto look = [&](const QVector<PlotPoint>& points) {
    if (!points.isEmpty()) last = std::max(last, xOf(points.back(), area->axis()));
  };
  look(train.points());
  look(validation);
  for (const PlotCurve& curve : curves)
    look(curve.points);
  for (const QVector<PlotPoint>& tail : train.abandoned())
    look(tail);
  if (forecast.has_value()) last = std::max(last, xOf(forecast->at, area->axis()));
  return last;
}

double LossPlot::Private::firstX() const {
  double first = std::numeric_limits<double>::infinity();
  const auto look = [&](const QVector<PlotPoint>& points) {
    if (!points.isEmpty()) first = std::min(first, xOf(points.front(), area->axis()));
  };
  look(train.points());
  look(validation);
  for (const PlotCurve& curve : curves)
    look(curve.points);
  return std::isfinite(first) ? first : 0;
}

void LossPlot::Private::followData() {
  if (!following) return;
  const double last = lastX();
  const double first = firstX();
  // A run that begins late, such as a clone, does not leave half the plot empty.
  const double low = first > 0.5 * last && last > 0 ? std::floor(first) : 0;
  setRange(low, isEmpty() ? 100
                          : std::max(low + 1,
                                     complete ? last + kEndRoom * (last - low) : nextNice(last)));
}

void LossPlot::Private::setCurves(const QVector<PlotCurve>& named) {
  curves = named;
  overlay.clear();
  for (PlotCurve& curve : curves) {
    PlotSeries series;
    series.setSmoothing(0);
    series.assign(curve.points);
    // What a resume left behind is not part of the overlay.
    curve.points = series.points();
    overlay << series;
  }
}

void LossPlot::Private::setRange(double low, double high) {
  const QCPRange before = area->xAxis->range();
  area->setXRange(low, high);
  if (before.lower != low || before.upper != high) emit q->xRangeChanged(low, high);
}

void LossPlot::Private::setFollowing(bool follow) {
  const bool changed = following != follow;
  following = follow;
  followData();
  refresh();
  if (changed) emit q->followingChanged(follow);
}

void LossPlot::Private::setAxis(PlotAxis axis) {
  if (axis == area->axis()) return;
  const QCPRange range = area->xAxis->range();
  const QVector<PlotPoint>& points = train.points();
  const auto low = nearestPoint(points, area->axis(), range.lower);
  const auto high = nearestPoint(points, area->axis(), range.upper);
  area->setAxis(axis);
  legend->setAxis(axis);
  describe();
  area->crosshair()->setX(std::nullopt);
  emit q->axisChanged(axis);
  if (!following && high > low) {
    setRange(xOf(points[low], axis), xOf(points[high], axis));
  } else {
    following = true;
    followData();
  }
  refresh();
}

void LossPlot::Private::describe() {
  q->setAccessibleName(legend->heading());
  area->setAccessibleName(legend->heading());
}

void LossPlot::Private::refresh() {
  const PlotWindow window = area->window();
  area->setLabelRoom(true, curves.isEmpty() ? kRight_px : kRightLabelled_px);
  area->setTickLabelsShown(!isEmpty());
  refreshRangeY(window);
  refreshCurves(window);
  refreshMarks(window);
  refreshLegend();
  refreshWarning();
  area->replotSoon();
}

void LossPlot::Private::refreshRangeY(const PlotWindow& window) {
  ValueRange range;
  const auto look = [&](const PlotSource& source) {
    const ValueRange part = valueRange(source, window, clip);
    if (part.empty) return;
    range.include(part.low);
    range.include(part.high);
  };
  look(train.raw());
  look({validation});
  for (const PlotSeries& series : overlay)
    look(series.raw());
  if (forecast.has_value() && xOf(forecast->at, window.axis) <= window.high) {
    range.include(forecast->low);
    range.include(forecast->high);
  }
  area->setYRange(range);
}

void LossPlot::Private::refreshCurves(const PlotWindow& window) {
  setLine(m_raw, reduced(train.raw(), window, Reduction::extremes));
  setLine(m_smooth, reduced(train.smooth(), window, Reduction::mean));
  setLine(m_validation, reduced({validation}, window, Reduction::extremes));
  const auto& tails = train.abandoned();
  drop(m_tails, tails.size());
  for (qsizetype i = 0; i < tails.size(); ++i) {
    QCPGraph* graph = pooled(m_tails, i);
    graph->setPen(seriesPen(kTrainSeries, 1, kTailShare));
    setLine(graph, reduced({tails[i]}, window, Reduction::mean));
  }
  drop(m_overlay, curves.size());
  for (qsizetype i = 0; i < curves.size(); ++i) {
    QCPGraph* graph = pooled(m_overlay, i);
    graph->setPen(overlayPen(curves[i].series));
    setLine(graph, reduced(overlay[i].raw(), window, Reduction::mean));
  }
}

QVector<QPointF> LossPlot::Private::gapPlaces(const PlotWindow& window) const {
  QVector<QPointF> places;
  double lastColumn = std::numeric_limits<double>::quiet_NaN();
  for (const qsizetype index : train.gaps()) {
    const double x = xOf(train.points()[index], window.axis);
    if (x < window.low || x > window.high) continue;
    // One cross for gaps that would cover each other.
    const double column = std::floor((x - window.low) / (window.high - window.low) *
                                     std::max(1, window.columns / 10));
    if (column == lastColumn) continue;
    lastColumn = column;
    qsizetype before = index;
    while (before > 0 && !std::isfinite(train.smoothed()[before]))
      --before;
    places << QPointF(x, train.smoothed()[before]);
  }
  return places;
}

void LossPlot::Private::refreshMarks(const PlotWindow& window) {
  PlotMarkings markings;
  for (const PlotPoint& checkpoint : checkpoints) {
    markings.checkpoints << xOf(checkpoint, window.axis);
  }
  for (const PlotMark& resume : resumes) {
    markings.resumes << PlotMarkings::Resume{xOf(resume.at, window.axis), resume.label};
  }
  markings.gaps = gapPlaces(window);
  for (const PlotCurve& curve : curves) {
    const auto end = std::find_if(curve.points.rbegin(), curve.points.rend(),
                                  [](const PlotPoint& p) { return std::isfinite(p.value); });
    if (end == curve.points.rend()) continue;
    markings.endLabels << PlotMarkings::EndLabel{{xOf(*end, window.axis), end->value},
                                                 curve.name + ' ' + formatLoss(end->value),
                                                 curve.series};
  }
  if (forecast.has_value() && !train.points().isEmpty()) {
    markings.forecast =
        PlotMarkings::Band{{xOf(train.points().back(), window.axis), train.lastFiniteSmoothed()},
                           xOf(forecast->at, window.axis),
                           forecast->low,
                           forecast->high,
                           kTrainSeries};
  }
  if (isEmpty()) markings.emptyText = emptyText;
  area->setMarkings(markings);
}

void LossPlot::Private::refreshLegend() {
  QVector<LegendEntry> entries;
  using Kind = LegendEntry::Kind;
  if (!train.points().isEmpty()) {
    entries << LegendEntry{LossPlot::tr("train"), formatLoss(train.lastFiniteSmoothed()),
                           kTrainSeries, Kind::line};
    entries << LegendEntry{LossPlot::tr("raw"), formatLoss(train.points().back().value),
                           kTrainSeries, Kind::shadow};
  }
  if (!validation.isEmpty()) {
    entries << LegendEntry{LossPlot::tr("validation"), formatLoss(validation.back().value),
                           kValidationSeries, Kind::dotted};
  }
  legend->setEntries(entries);
}

void LossPlot::Private::refreshWarning() {
  QStringList parts;
  if (const auto count = train.gaps().size(); count > 0) {
    parts << counted(count, LossPlot::tr("value is not finite"),
                     LossPlot::tr("values are not finite"));
  }
  if (const auto count = train.nonPositiveCount(); count > 0 && area->logY()) {
    parts << counted(count, LossPlot::tr("value of 0 or less has no place on a log axis"),
                     LossPlot::tr("values of 0 or less have no place on a log axis"));
  }
  const QString now = parts.join("; ");
  if (now == warning) return;
  warning = now;
  legend->setWarning(now);
  emit q->warningChanged(now);
}

QString LossPlot::Private::readingHeading(double x) const {
  const auto index = nearestPoint(train.points(), area->axis(), x);
  if (index >= 0) {
    const PlotPoint& point = train.points()[index];
    return LossPlot::tr("step %1 · %2 tokens")
        .arg(formatThousands(std::llround(point.step)), formatCount(point.tokens));
  }
  switch (area->axis()) {
    case PlotAxis::step:
      return LossPlot::tr("step %1").arg(formatThousands(std::llround(x)));
    case PlotAxis::tokens:
      return LossPlot::tr("%1 tokens").arg(formatCount(x));
    case PlotAxis::time:
      return formatDuration(x);
  }
  return {};
}

QVector<CrosshairRow> LossPlot::Private::readingRows(double x, QVector<QPointF>& dots) const {
  QVector<CrosshairRow> rows;
  const PlotAxis axis = area->axis();
  if (const auto i = nearestPoint(train.points(), axis, x); i >= 0) {
    const double smooth = train.smoothed()[i];
    rows << CrosshairRow{
        LossPlot::tr("train"),
        LossPlot::tr("%1 (raw %2)").arg(formatLoss(smooth), formatLoss(train.points()[i].value))};
    dots << QPointF(x, smooth);
  }
  if (const auto i = nearestPoint(validation, axis, x); i >= 0) {
    rows << CrosshairRow{LossPlot::tr("validation"), formatLoss(validation[i].value)};
  }
  for (const PlotCurve& curve : curves) {
    const auto i = nearestPoint(curve.points, axis, x);
    if (i < 0 || x > xOf(curve.points.back(), axis)) continue;
    rows << CrosshairRow{curve.name, formatLoss(curve.points[i].value)};
    dots << QPointF(x, curve.points[i].value);
  }
  if (const auto i = nearestPoint(train.points(), axis, x); i >= 0) {
    rows << CrosshairRow{LossPlot::tr("time"), formatDuration(train.points()[i].seconds)};
  }
  return rows;
}

void LossPlot::Private::showCrosshair(std::optional<double> x) {
  PlotCrosshair* crosshair = area->crosshair();
  if (!x.has_value() && !crosshair->x().has_value()) return;
  crosshair->setX(x);
  if (x.has_value()) {
    QVector<QPointF> dots;
    const QVector<CrosshairRow> rows = readingRows(*x, dots);
    crosshair->setDots(dots);
    crosshair->setReading(rows.isEmpty() ? QString() : readingHeading(*x), rows);
  }
  area->replotCrosshair();
}

}  // namespace athanor
