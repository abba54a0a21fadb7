// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/session/run_spec.h"

namespace athanor {

namespace {

int list_presets(const GlobalOptions& global) {
  if (!global.json) {
    for (const Preset& each : presets()) {
      print_line(fmt::format("{:<14} {}", each.id, each.description));
    }
    return kSuccess;
  }
  Json list = Json::array();
  for (const Preset& each : presets()) {
    list.push_back({{"id", each.id},
                    {"title", each.title},
                    {"description", each.description},
                    {"spec", run_spec_to_json(each.spec)}});
  }
  print_json(list);
  return kSuccess;
}

}  // namespace

void add_presets_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("presets", "List the model shapes that come with the program");
  command->callback([&global, &action] { action = [&global] { return list_presets(global); }; });
}

}  // namespace athanor
