// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Writes what a plot shows to a file, by atomic replacement.

#include <QString>
#include <QVector>

#include "widgets/plot_series.h"

class QImage;

namespace athanor {

struct PlotContent {
  const PlotSeries& train;
  const QVector<PlotPoint>& validation;
  const QVector<PlotCurve>& curves;
};

/// Columns series,step,tokens,seconds,value,smoothed in C locale with digits enough to read back
/// the same values. Returns an empty string, or a sentence on why the file could not be written.
QString writePlotCsv(const QString& path, const PlotContent& content);
/// PNG; the same kind of answer.
QString writePlotImage(const QString& path, const QImage& image);

}  // namespace athanor
