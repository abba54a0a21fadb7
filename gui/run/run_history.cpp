// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/run_history.h"

#include <algorithm>
#include <limits>

#include "engine/base/error.h"

namespace athanor {

RunHistory readHistory(const RunStore& store, std::int64_t runId, std::int64_t afterMetric,
                       std::int64_t afterEvaluation) {
  const std::optional<RunRecord> record = store.run(runId);
  if (!record) {
    throw Error(ErrorKind::not_found, "Run " + std::to_string(runId) +
                                          " is no longer there. Choose another one under Runs.");
  }
  return {.record = *record,
          .metrics = store.metrics(runId, afterMetric),
          .tails = afterMetric < 0 ? store.abandoned_tails(runId)
                                   : std::vector<std::vector<MetricRow>>{},
          .evaluations = store.evaluations(runId, afterEvaluation),
          .events = store.events(runId),
          .checkpoints = store.checkpoints(runId)};
}

std::vector<MetricRow> asTrained(const RunHistory& history) {
  std::vector<MetricRow> rows;
  auto next = history.metrics.begin();
  const auto goOnBefore = [&](std::int64_t step) {
    for (; next != history.metrics.end() && next->step < step; ++next)
      rows.push_back(*next);
  };
  for (const std::vector<MetricRow>& tail : history.tails) {
    if (tail.empty()) continue;
    goOnBefore(tail.front().step);
    rows.insert(rows.end(), tail.begin(), tail.end());
  }
  goOnBefore(std::numeric_limits<std::int64_t>::max());
  return rows;
}

int resumeCount(const RunHistory& history) {
  return static_cast<int>(
      std::count_if(history.events.begin(), history.events.end(),
                    [](const EventRow& event) { return event.kind == "resumed"; }));
}

}  // namespace athanor
