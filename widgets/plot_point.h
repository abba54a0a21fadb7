// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What the plots are fed with: plain values in the order they happened.

#include <QString>
#include <QVector>

namespace athanor {

struct PlotPoint {
  double step = 0;
  double tokens = 0;
  double seconds = 0;  ///< training time since the start of the run
  double value = 0;    ///< not finite: a gap
};

enum class PlotAxis { step, tokens, time };

/// A vertical dashed line with its cause in words, for example "resumed at 17,000".
struct PlotMark {
  PlotPoint at;  ///< the value is not used
  QString label;
};

/// One named curve of an overlay.
struct PlotCurve {
  QString name;
  int series = 1;  ///< 1…8: colour and line pattern
  QVector<PlotPoint> points;
};

}  // namespace athanor
