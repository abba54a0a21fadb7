// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Rows of the store as points of the plots.

#include <QVector>
#include <vector>

#include "engine/store/run_store.h"
#include "widgets/plot_point.h"

namespace athanor {

QVector<PlotPoint> pointsOf(const std::vector<MetricRow>& rows, double MetricRow::*value);
QVector<PlotPoint> pointsOf(const std::vector<EvaluationRow>& rows);
/// The place of a step on every axis, from the evaluation made there; evaluations ascend by step.
PlotPoint pointAt(std::int64_t step, const std::vector<EvaluationRow>& evaluations);

}  // namespace athanor
