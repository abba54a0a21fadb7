// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/plot_blocks.h"

#include <cmath>

namespace athanor {
namespace {

PlotBlock summary(const PlotSource& source, qsizetype first) {
  PlotBlock block;
  block.low = block.high = block.mean = source.value(first);
  block.finite = std::isfinite(block.mean);
  for (int i = 1; i < kBlockPoints && block.finite; ++i) {
    const double value = source.value(first + i);
    block.finite = std::isfinite(value);
    if (value < block.low) {
      block.low = value;
      block.lowAt = i;
    }
    if (value > block.high) {
      block.high = value;
      block.highAt = i;
    }
    // A running mean stays exactly at a constant; a sum divided does not.
    block.mean += (value - block.mean) / (i + 1);
  }
  return block;
}

}  // namespace

void extendBlocks(QVector<PlotBlock>& blocks, const PlotSource& source) {
  const qsizetype complete = source.points.size() / kBlockPoints;
  blocks.reserve(complete);
  while (blocks.size() < complete)
    blocks << summary(source, blocks.size() * kBlockPoints);
}

}  // namespace athanor
