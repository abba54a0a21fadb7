// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/engine/store/sample_runs.h"

#include <cstdio>

#include "engine/base/file.h"
#include "engine/base/json.h"

namespace athanor {

RunRecord sample_run(const std::string& name, RunStatus status) {
  return {.name = name,
          .status = status,
          .problem = "",
          .created_ms = 1'700'000'000'123,
          .updated_ms = 1'700'000'100'456,
          .step = 7,
          .steps = 250,
          .tokens = 14336,
          .seconds = 12.75,
          .loss = 2.5,
          .validation_loss = 2.625,
          .best_validation_loss = 2.5625,
          .tokens_per_second = 1124.5,
          .parameters = 3'500'000'000,
          .planned_bytes = 6'000'000'001,
          .peak_resident_bytes = 6'000'000'002,
          .device = "Some processor, 2 threads",
          .spec = "{\"format\":1}"};
}

std::vector<MetricRow> sample_metrics(std::int64_t first, std::int64_t last) {
  std::vector<MetricRow> rows;
  for (std::int64_t step = first; step <= last; ++step) {
    const auto x = static_cast<double>(step);
    rows.push_back({.step = step,
                    .tokens = 128 * step,
                    .seconds = 0.5 * x,
                    .loss = 5.0 / x,
                    .learning_rate = 1e-3 / x,
                    .gradient_norm = 1.0 + 1.0 / x,
                    .tokens_per_second = 1000.0 + x});
  }
  return rows;
}

std::string difference(const RunRecord& a, const RunRecord& b) {
  if (a.name != b.name) return "name";
  if (a.status != b.status) return "status";
  if (a.problem != b.problem) return "problem";
  if (a.created_ms != b.created_ms || a.updated_ms != b.updated_ms) return "times";
  if (a.step != b.step || a.steps != b.steps || a.tokens != b.tokens) return "steps or tokens";
  if (a.seconds != b.seconds) return "seconds";
  if (a.loss != b.loss) return "loss";
  if (a.validation_loss != b.validation_loss) return "validation_loss";
  if (a.best_validation_loss != b.best_validation_loss) return "best_validation_loss";
  if (a.tokens_per_second != b.tokens_per_second) return "tokens_per_second";
  if (a.parameters != b.parameters) return "parameters";
  if (a.planned_bytes != b.planned_bytes) return "planned_bytes";
  if (a.peak_resident_bytes != b.peak_resident_bytes) return "peak_resident_bytes";
  if (a.device != b.device) return "device";
  return a.spec != b.spec ? "spec" : "";
}

void make_run_folder(const std::filesystem::path& home, std::int64_t id, const std::string& name,
                     std::int64_t planned_steps, const std::vector<std::int64_t>& saved_steps) {
  char number[16];
  std::snprintf(number, sizeof number, "%06d", static_cast<int>(id));
  const std::filesystem::path folder = home / "runs" / number;
  create_folders(folder / "checkpoints");
  write_file_atomically(
      folder / "spec.json",
      Json{{"format", 1}, {"name", name}, {"train", {{"steps", planned_steps}}}}.dump());
  for (const std::int64_t step : saved_steps) {
    char step_name[32];
    std::snprintf(step_name, sizeof step_name, "step-%08d", static_cast<int>(step));
    create_folders(folder / "checkpoints" / step_name);
    write_file_atomically(folder / "checkpoints" / step_name / "state.json",
                          Json{{"step", step},
                               {"tokens", 64 * step},
                               {"seconds", 0.25},
                               {"validation_loss", 3.5},
                               {"best_loss", 3.25}}
                              .dump());
  }
}

}  // namespace athanor
