// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Where a trainer leaves its values and the window fetches them, at its own pace.

#include <mutex>
#include <vector>

#include "engine/store/run_store.h"

namespace athanor {

/// Values of a run in the order they happened.
struct RunRows {
  std::vector<MetricRow> metrics;
  std::vector<EvaluationRow> evaluations;

  bool empty() const { return metrics.empty() && evaluations.empty(); }
};

/// One thread pushes, another takes; neither waits for more than a copy.
class MetricChannel {
 public:
  void push(const MetricRow& row);
  void push(const EvaluationRow& row);
  /// Everything since the last take().
  RunRows take();

 private:
  std::mutex m_mutex;
  RunRows m_rows;
};

}  // namespace athanor
