// SPDX-License-Identifier: GPL-3.0-or-later
#include <CLI/App.hpp>
#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/session_runner.h"
#include "engine/cli/setting_options.h"

namespace athanor {

namespace {

struct ResumeOptionsTyped {
  std::string run;
  std::string learning_rate_scale = "1";
  std::string step;  ///< empty: the newest
};

double scale_of(const std::string& text) {
  const Json value = value_as_typed(text);
  if (!value.is_number() || value.get<double>() <= 0) {
    throw Error(ErrorKind::invalid_argument,
                "--lr-scale must be a number above 0, such as 0.1; it is \"" + text + "\".");
  }
  return value.get<double>();
}

int resume(const ResumeOptionsTyped& typed, const GlobalOptions& global) {
  const std::int64_t run = whole_number("RUN", typed.run, Bounds{1, 9e15});
  TrainingSession::ResumeOptions options{.learning_rate_scale = scale_of(typed.learning_rate_scale),
                                         .step = {}};
  if (!typed.step.empty()) options.step = whole_number("--step", typed.step, Bounds{0, 9e15});
  return run_session(
      global, [&](TrainingSession& session, TrainControl& control, SessionObserver& observer) {
        return session.resume(run, options, control, observer);
      });
}

}  // namespace

void add_resume_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("resume", "Go on with a run that was stopped, paused or interrupted");
  const auto typed = std::make_shared<ResumeOptionsTyped>();
  command->add_option("RUN", typed->run, "The run's number; see runs")->type_name("N")->required();
  command
      ->add_option("--lr-scale", typed->learning_rate_scale,
                   "Multiplies the learning rate from here on")
      ->type_name("X");
  command
      ->add_option("--step", typed->step,
                   "The checkpoint to go on from, instead of the newest; what came after it is set "
                   "aside")
      ->type_name("N");
  command->callback(
      [typed, &global, &action] { action = [typed, &global] { return resume(*typed, global); }; });
}

}  // namespace athanor
