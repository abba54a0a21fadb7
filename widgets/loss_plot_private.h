// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The parts and the state of a LossPlot.

#include <QVector>

#include "widgets/loss_plot.h"
#include "widgets/plot_area.h"
#include "widgets/plot_legend.h"
#include "widgets/plot_series.h"

namespace athanor {

class LossPlot::Private {
 public:
  Private(LossPlot* plot, const QString& title);

  /// Everything drawn anew: after data, range, size or theme changed.
  void refresh();
  void refreshLegend();
  /// While following, the x range that holds all points, grown to a round end.
  void followData();
  void setCurves(const QVector<PlotCurve>& named);
  void setRange(double low, double high);
  void setFollowing(bool following);
  void setAxis(PlotAxis axis);
  void showCrosshair(std::optional<double> x);
  bool isEmpty() const;
  /// Tells a screen reader the title and what x is.
  void describe();

  LossPlot* q;
  PlotLegend* legend;
  PlotArea* area;
  PlotSeries train;
  QVector<PlotPoint> validation;
  QVector<PlotPoint> checkpoints;
  QVector<PlotMark> resumes;
  QVector<PlotCurve> curves;
  QVector<PlotSeries> overlay;  ///< one for each of `curves`
  std::optional<LossPlot::Forecast> forecast;
  QString emptyText;
  QString warning;
  bool clip = false;
  bool following = true;
  bool complete = false;

 private:
  void connectArea();
  void createCurves();
  void styleCurves();
  void refreshCurves(const PlotWindow& window);
  void refreshRangeY(const PlotWindow& window);
  void refreshMarks(const PlotWindow& window);
  void refreshWarning();
  QVector<QPointF> gapPlaces(const PlotWindow& window) const;
  double lastX() const;
  double firstX() const;
  QVector<CrosshairRow> readingRows(double x, QVector<QPointF>& dots) const;
  QString readingHeading(double x) const;
  QCPGraph* pooled(QVector<QCPGraph*>& pool, qsizetype index);
  void drop(QVector<QCPGraph*>& pool, qsizetype keep);

  QCPGraph* m_raw = nullptr;
  QCPGraph* m_smooth = nullptr;
  QCPGraph* m_validation = nullptr;
  QVector<QCPGraph*> m_tails;
  QVector<QCPGraph*> m_overlay;
};

}  // namespace athanor
