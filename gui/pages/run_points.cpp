// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/run_points.h"

#include <algorithm>

namespace athanor {

QVector<PlotPoint> pointsOf(const std::vector<MetricRow>& rows, double MetricRow::*value) {
  QVector<PlotPoint> points;
  points.reserve(static_cast<qsizetype>(rows.size()));
  for (const MetricRow& row : rows) {
    points.push_back(
        {static_cast<double>(row.step), static_cast<double>(row.tokens), row.seconds, row.*value});
  }
  return points;
}

QVector<PlotPoint> pointsOf(const std::vector<EvaluationRow>& rows) {
  QVector<PlotPoint> points;
  points.reserve(static_cast<qsizetype>(rows.size()));
  for (const EvaluationRow& row : rows) {
    points.push_back(
        {static_cast<double>(row.step), static_cast<double>(row.tokens), row.seconds, row.loss});
  }
  return points;
}

PlotPoint pointAt(std::int64_t step, const std::vector<EvaluationRow>& evaluations) {
  const auto found = std::lower_bound(
      evaluations.begin(), evaluations.end(), step,
      [](const EvaluationRow& row, std::int64_t wanted) { return row.step < wanted; });
  PlotPoint point{.step = static_cast<double>(step)};
  if (found != evaluations.end()) {
    point.tokens = static_cast<double>(found->tokens);
    point.seconds = found->seconds;
  }
  return point;
}

}  // namespace athanor
