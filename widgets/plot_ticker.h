// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Where the ticks of a plot's axes stand and how they read.

#include <qcustomplot.h>

#include "widgets/plot_point.h"

namespace athanor {

/// Smallest of 1, 2 and 5 times a power of ten that is not below `value`.
double nextNice(double value);

/// Ticks along steps, tokens or training time.
class XTicker : public QCPAxisTicker {
 public:
  void setAxis(PlotAxis axis) { m_axis = axis; }

 protected:
  double getTickStep(const QCPRange& range) override;
  int getSubTickCount(double) override { return 0; }
  QString getTickLabel(double tick, const QLocale&, QChar, int) override;

 private:
  PlotAxis m_axis = PlotAxis::step;
};

/// Ticks of values; on a log axis they stay at round values, closer together where it is wide.
class YTicker : public QCPAxisTicker {
 public:
  void setLog(bool log) { m_log = log; }

 protected:
  int getSubTickCount(double) override { return 0; }
  QVector<double> createTickVector(double step, const QCPRange& range) override;
  QString getTickLabel(double tick, const QLocale&, QChar, int) override;

 private:
  bool m_log = false;
  double m_step = 1;
};

/// The value range grown to whole ticks, so that the axis moves in steps.
QCPRange snappedRange(double low, double high, bool log);

}  // namespace athanor
