// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/session/take_over.h"

namespace athanor {

namespace {

int take_over(const std::string& folder, const GlobalOptions& global) {
  const std::int64_t run = take_over_run(global.home_folder(), folder, CancelToken(), {});
  if (global.json) {
    print_json({{"run", run}});
  } else {
    print_line(fmt::format("It is run {} here. Go on with: {}", run,
                           global.command(fmt::format("resume {}", run))));
  }
  return kSuccess;
}

}  // namespace

void add_take_over_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("take-over", "Copy a run's folder from another machine into this one");
  const auto folder = std::make_shared<std::string>();
  command->add_option("FOLDER", *folder, "The run's folder, such as runs/000001 of a home")
      ->required();
  command->callback([folder, &global, &action] {
    action = [folder, &global] { return take_over(*folder, global); };
  });
}

}  // namespace athanor
