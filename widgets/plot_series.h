// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The values of one curve, their smoothed line, and what of them is drawn at a given width.

#include <QVector>
#include <cstdint>

#include "widgets/plot_blocks.h"
#include "widgets/plot_point.h"

namespace athanor {

/// The stretch of the x axis that is shown, and how.
struct PlotWindow {
  PlotAxis axis = PlotAxis::step;
  double low = 0;
  double high = 1;
  int columns = 1;     ///< pixels across
  bool log_y = false;  ///< values of 0 and less are gaps
};

/// Points ready to draw; a y that is not a number breaks the line.
struct PlotLine {
  QVector<double> x;
  QVector<double> y;
};

struct ValueRange {
  double low = 0;
  double high = 0;
  bool empty = true;
  void include(double value);
};

double xOf(const PlotPoint& point, PlotAxis axis);

/// At most a few points a column: `extremes` keeps each column's least and greatest value, `mean`
/// its average.
enum class Reduction { extremes, mean };
PlotLine reduced(const PlotSource& source, const PlotWindow& window, Reduction reduction);

/// The drawable values in the window. With `clip` single outliers are left out: the range of the
/// 5th to 95th percentile, widened by half.
ValueRange valueRange(const PlotSource& source, const PlotWindow& window, bool clip);

/// Index of the point nearest to x; −1 when there is none.
qsizetype nearestPoint(const QVector<PlotPoint>& points, PlotAxis axis, double x);

/// A training series: debiased exponential smoothing, gaps, and the tails that resumes left behind.
class PlotSeries {
 public:
  void assign(const QVector<PlotPoint>& points);
  /// A step not after the last one is a resume: the points from there on become an abandoned tail.
  void append(const QVector<PlotPoint>& points);
  void clear();
  /// Weight of the past, 0 … 0.999. A constant series smooths to exactly that constant.
  void setSmoothing(double weight);

  const QVector<PlotPoint>& points() const { return m_points; }
  /// For reduced() and valueRange(); valid until the next change.
  PlotSource raw() const { return {m_points, nullptr, &m_rawBlocks}; }
  PlotSource smooth() const { return {m_points, m_smoothed.constData(), &m_smoothBlocks}; }
  /// As long as points(); not a number where the value is not finite.
  const QVector<double>& smoothed() const { return m_smoothed; }
  const QVector<QVector<PlotPoint>>& abandoned() const { return m_abandoned; }
  /// Indices of the points whose value is not finite.
  const QVector<qsizetype>& gaps() const { return m_gaps; }
  std::int64_t nonPositiveCount() const { return m_nonPositive; }
  double lastFinite() const;          ///< not a number when there is none
  double lastFiniteSmoothed() const;  ///< the same

 private:
  void cutBack(double step);
  void smoothFrom(qsizetype first);

  QVector<PlotPoint> m_points;
  QVector<double> m_smoothed;
  QVector<QVector<PlotPoint>> m_abandoned;
  QVector<qsizetype> m_gaps;
  QVector<PlotBlock> m_rawBlocks;
  QVector<PlotBlock> m_smoothBlocks;
  std::int64_t m_nonPositive = 0;
  double m_weight = 0.9;
  // The smoother's state after the last point.
  double m_mean = 0;
  double m_decay = 1;
};

}  // namespace athanor
