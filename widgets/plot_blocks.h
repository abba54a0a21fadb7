// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Summaries of fixed runs of points, so that a million of them need not be read for each frame.

#include <QVector>

#include "widgets/plot_point.h"

namespace athanor {

inline constexpr qsizetype kBlockPoints = 32;

/// Stands for points [i * kBlockPoints, (i + 1) * kBlockPoints).
struct PlotBlock {
  double low = 0;
  double high = 0;
  double mean = 0;
  int lowAt = 0;        ///< index within the block
  int highAt = 0;       ///< index within the block
  bool finite = false;  ///< all values are; otherwise the points must be read
};

/// Points with the values to draw and the blocks over them.
struct PlotSource {
  const QVector<PlotPoint>& points;
  const double* values = nullptr;              ///< replaces the points' own; may be null
  const QVector<PlotBlock>* blocks = nullptr;  ///< may be null

  double value(qsizetype index) const {
    return values != nullptr ? values[index] : points[index].value;
  }
};

/// Adds the blocks that have become complete. `blocks` holds the earlier ones.
void extendBlocks(QVector<PlotBlock>& blocks, const PlotSource& source);

}  // namespace athanor
