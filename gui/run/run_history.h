// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// All that the store knows of a run's course, as one value.

#include <vector>

#include "engine/store/run_store.h"

namespace athanor {

struct RunHistory {
  RunRecord record;
  std::vector<MetricRow> metrics;
  std::vector<std::vector<MetricRow>> tails;  ///< given up by going back; only with all metrics
  std::vector<EvaluationRow> evaluations;
  std::vector<EventRow> events;            ///< always all of them
  std::vector<CheckpointRow> checkpoints;  ///< always all of them
};

/// Metrics and evaluations after `afterMetric` and `afterEvaluation` (steps; −1: all). Throws
/// not_found for a run that is not there.
RunHistory readHistory(const RunStore& store, std::int64_t runId, std::int64_t afterMetric = -1,
                       std::int64_t afterEvaluation = -1);

/// The metrics in the order in which they were trained, what was given up included: where a step
/// does not rise, the run went back.
std::vector<MetricRow> asTrained(const RunHistory& history);

/// How often the run has been taken up again.
int resumeCount(const RunHistory& history);

}  // namespace athanor
