// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cmath>
#include <optional>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/store/run_store.h"

namespace athanor {

namespace {

Json number_or_null(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

Json rehearsal_as_json(const std::optional<RehearsalRow>& row) {
  if (!row) return nullptr;
  return {{"planned_bytes", row->planned_bytes},
          {"taken_bytes", row->taken_bytes},
          {"outside_bytes", row->outside_bytes},
          {"predicted_tokens_per_second", number_or_null(row->predicted_tokens_per_second)},
          {"tokens_per_second", row->tokens_per_second},
          {"step_seconds", row->step_seconds}};
}

Json run_as_json(const RunRecord& record, const std::optional<RehearsalRow>& rehearsal) {
  return {{"run", record.id},
          {"name", record.name},
          {"status", name_of(record.status)},
          {"problem", record.problem},
          {"created_ms", record.created_ms},
          {"updated_ms", record.updated_ms},
          {"step", record.step},
          {"steps", record.steps},
          {"tokens", record.tokens},
          {"seconds", record.seconds},
          {"loss", number_or_null(record.loss)},
          {"validation_loss", number_or_null(record.validation_loss)},
          {"best_validation_loss", number_or_null(record.best_validation_loss)},
          {"tokens_per_second", number_or_null(record.tokens_per_second)},
          {"parameters", record.parameters},
          {"planned_bytes", record.planned_bytes},
          {"rehearsal", rehearsal_as_json(rehearsal)},
          {"device", record.device}};
}

std::string table_row(const RunRecord& record) {
  const std::string loss =
      record.validation_loss ? fmt::format("{:.4f}", *record.validation_loss) : "–";
  const std::string speed =
      record.tokens_per_second ? grouped(std::llround(*record.tokens_per_second)) : "–";
  return fmt::format("{:>4}  {:<24.24}  {:<11}  {:>15}  {:>10}  {:>9}  {:%Y-%m-%d %H:%M}",
                     record.id, single_line(record.name), name_of(record.status),
                     fmt::format("{}/{}", record.step, record.steps), loss, speed,
                     fmt::localtime(static_cast<std::time_t>(record.created_ms / 1000)));
}

int list_runs(const GlobalOptions& global) {
  RunStore store(global.home_folder());
  if (!store.recovery_note().empty()) print_note(store.recovery_note().sentence());
  store.mark_interrupted();
  const std::vector<RunRecord> records = store.runs();
  if (global.json) {
    Json list = Json::array();
    for (const RunRecord& record : records)
      list.push_back(run_as_json(record, store.rehearsal(record.id)));
    print_json(list);
    return kSuccess;
  }
  if (records.empty()) {
    print_line("There are no runs yet. Begin with: " + global.command("train --preset spark"));
    return kSuccess;
  }
  print_line(fmt::format("{:>4}  {:<24}  {:<11}  {:>15}  {:>10}  {:>9}  {}", "run", "name", "state",
                         "step", "val. loss", "tokens/s", "started"));
  for (const RunRecord& record : records)
    print_line(table_row(record));
  return kSuccess;
}

}  // namespace

void add_runs_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand("runs", "List the runs, newest first");
  command->callback([&global, &action] { action = [&global] { return list_runs(global); }; });
}

}  // namespace athanor
