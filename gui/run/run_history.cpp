// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/run_history.h"

#include <algorithm>

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
          .evaluations = store.evaluations(runId, afterEvaluation),
          .events = store.events(runId),
          .checkpoints = store.checkpoints(runId)};
}

int resumeCount(const RunHistory& history) {
  return static_cast<int>(
      std::count_if(history.events.begin(), history.events.end(),
                    [](const EventRow& event) { return event.kind == "resumed"; }));
}

}  // namespace athanor
