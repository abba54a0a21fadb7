// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/run/metric_channel.h"

#include <utility>

namespace athanor {

void MetricChannel::push(const MetricRow& row) {
  const std::lock_guard lock(m_mutex);
  m_rows.metrics.push_back(row);
}

void MetricChannel::push(const EvaluationRow& row) {
  const std::lock_guard lock(m_mutex);
  m_rows.evaluations.push_back(row);
}

RunRows MetricChannel::take() {
  const std::lock_guard lock(m_mutex);
  return std::exchange(m_rows, {});
}

}  // namespace athanor
