// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "engine/store/run_store.h"

namespace athanor {

/// A run's curves as text in its own folder, metrics.csv and evaluations.csv, beside what the
/// database has: a run that is moved to another machine, or whose database was lost, brings them
/// along. Rows are only ever added; one of an earlier step than the last says that the run went
/// back, and what came after that step does not count.
class CurveFiles {
 public:
  explicit CurveFiles(std::filesystem::path run_folder) : folder_(std::move(run_folder)) {}

  /// Throws file_error.
  void append(std::span<const MetricRow> rows) const;
  void append(const EvaluationRow& row) const;

  /// Ascending by step. Lines that are no rows, as after a power cut, are passed over; no file
  /// gives no rows.
  std::vector<MetricRow> metrics() const;
  std::vector<EvaluationRow> evaluations() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace athanor
