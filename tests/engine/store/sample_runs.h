// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/store/run_store.h"

namespace athanor {

/// Every field set to something of its own.
RunRecord sample_run(const std::string& name, RunStatus status = RunStatus::running);
/// One row a step, for steps first … last.
std::vector<MetricRow> sample_metrics(std::int64_t first, std::int64_t last);
/// Empty when all fields are equal (id aside), else the name of the first that is not.
std::string difference(const RunRecord& a, const RunRecord& b);

/// A run's folder as training leaves it: spec.json, and a checkpoint at each step.
void make_run_folder(const std::filesystem::path& home, std::int64_t id, const std::string& name,
                     std::int64_t planned_steps, const std::vector<std::int64_t>& saved_steps);

}  // namespace athanor
