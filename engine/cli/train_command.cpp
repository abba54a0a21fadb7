// SPDX-License-Identifier: GPL-3.0-or-later
#include <CLI/App.hpp>
#include <algorithm>
#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/session_runner.h"
#include "engine/cli/spec_options.h"

namespace athanor {

namespace {

int train(const SpecOptions& options, const GlobalOptions& global) {
  const RunSpec spec = options.spec(global);
  try {
    return run_session(global, spec);
  } catch (const Error& error) {
    const std::string sentence = options.in_terms_of_options(error.message());
    print_problem(sentence);
    // A text that cannot be used is no setting, though the engine calls both invalid.
    const bool about_text = error.kind() == ErrorKind::invalid_argument &&
                            sentence == error.message() &&
                            std::ranges::any_of(spec.sources, [&](const CorpusSource& source) {
                              return sentence.find(source.path) != std::string::npos;
                            });
    return about_text ? kDataProblem : exit_code_of(error.kind());
  }
}

}  // namespace

void add_train_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("train", "Train a new run (the demo: train --preset spark)");
  const auto options = std::make_shared<SpecOptions>();
  options->add_to(*command);
  command->callback([options, &global, &action] {
    action = [options, &global] { return train(*options, global); };
  });
}

}  // namespace athanor
