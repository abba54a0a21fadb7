// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/session_runner.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/cli/exit_codes.h"
#include "engine/cli/json_events.h"
#include "engine/cli/output.h"
#include "engine/cli/stop_signals.h"
#include "engine/cli/terminal_progress.h"

namespace athanor {

namespace {

/// What the report at the end needs besides the run's record.
struct Known {
  std::int64_t allocated_bytes = 0;
  std::int64_t offloaded_bytes = 0;
  bool has_checkpoint = false;
};

/// Keeps it from what is heard on the way.
template <class Observer>
class Remembering : public Observer {
 public:
  using Observer::Observer;
  void on_started(const SessionStart& start) override {
    known_.allocated_bytes = start.allocated_bytes;
    known_.offloaded_bytes = start.plan.host.peak_bytes;
    known_.has_checkpoint = start.first_step > 0;
    Observer::on_started(start);
  }
  void on_checkpoint(const SavedCheckpoint& checkpoint) override {
    known_.has_checkpoint = true;
    Observer::on_checkpoint(checkpoint);
  }
  const Known& known() const { return known_; }

 private:
  Known known_;
};

double mean_tokens_per_second(const RunRecord& record) {
  return record.seconds > 0 ? static_cast<double>(record.tokens) / record.seconds : 0;
}

int exit_code_of_end(const SessionEnd& end) {
  if (!end.record.problem.empty()) return exit_code_of(end.problem_kind);
  return end.record.status == RunStatus::finished ? kSuccess : kStopped;
}

void tell_figures(const SessionEnd& end, const Known& known) {
  const RunRecord& record = end.record;
  const std::string offloaded =
      known.offloaded_bytes > 0
          ? fmt::format(", {} bytes offloaded", grouped(known.offloaded_bytes))
          : "";
  print_line(fmt::format("{} tokens/s; memory: {} bytes planned, {} bytes allocated{}.",
                         grouped(std::llround(mean_tokens_per_second(record))),
                         grouped(record.planned_bytes), grouped(known.allocated_bytes), offloaded));
  if (record.validation_loss) {
    print_line(
        fmt::format("Validation loss {:.4f} nats/token, {:.4f} bits per byte; knowing only how "
                    "often each token occurs gives {:.4f} nats/token.",
                    *record.validation_loss, end.bits_per_byte, end.unigram_entropy));
  }
}

void tell_next_step(const SessionEnd& end, const Known& known, const GlobalOptions& global) {
  if (!known.has_checkpoint) return;
  const RunRecord& record = end.record;
  if (record.status == RunStatus::finished || record.status == RunStatus::stopped) {
    print_line("Go on with: " + global.command(fmt::format("chat {}", record.id)));
  }
  if (record.status == RunStatus::stopped || record.status == RunStatus::paused) {
    const bool diverged = end.problem_kind == ErrorKind::non_finite && !record.problem.empty();
    print_line("Resume with: " + global.command(fmt::format("resume {}{}", record.id,
                                                            diverged ? " --lr-scale 0.1" : "")));
  }
}

void tell_end(const SessionEnd& end, const Known& known, const GlobalOptions& global) {
  const RunRecord& record = end.record;
  print_line(fmt::format("Run {} {} at step {} of {}, after {}.", record.id, name_of(record.status),
                         record.step, record.steps, duration_text(record.seconds)));
  if (!record.problem.empty()) print_problem(record.problem);
  tell_next_step(end, known, global);
  if (record.step > 0) tell_figures(end, known);
}

void tell_end_as_json(const SessionEnd& end, const Known& known) {
  const RunRecord& record = end.record;
  Json event{{"event", "finished"},
             {"run", record.id},
             {"status", name_of(record.status)},
             {"problem", record.problem},
             {"step", record.step},
             {"steps", record.steps},
             {"tokens", record.tokens},
             {"seconds", record.seconds},
             {"loss", nullptr},
             {"validation_loss", nullptr},
             {"bits_per_byte", end.bits_per_byte},
             {"unigram_entropy", end.unigram_entropy},
             {"tokens_per_second", mean_tokens_per_second(record)},
             {"planned_bytes", record.planned_bytes},
             {"allocated_bytes", known.allocated_bytes},
             {"offloaded_bytes", known.offloaded_bytes}};
  if (record.loss) event["loss"] = *record.loss;
  if (record.validation_loss) event["validation_loss"] = *record.validation_loss;
  print_json(event);
  if (!record.problem.empty()) print_problem(record.problem);
}

}  // namespace

int run_session(const GlobalOptions& global, const SessionCall& call) {
  TrainControl control;
  const StopSignals signals([&control] {
    print_note(
        "\nSaving the last complete step. Press Ctrl+C again to end at once, without saving.");
    control.stop();
  });
  TrainingSession session(global.home_folder(), global.backend());
  global.tell_unused_card();
  try {
    SessionEnd end;
    if (global.json) {
      Remembering<JsonEvents> events;
      end = call(session, control, events);
      tell_end_as_json(end, events.known());
    } else {
      Remembering<TerminalProgress> progress(output_is_terminal());
      end = call(session, control, progress);
      progress.finish();
      tell_end(end, progress.known(), global);
    }
    return exit_code_of_end(end);
  } catch (const Cancelled&) {
    print_problem("Stopped before training began; there is nothing to resume.");
    return kStopped;
  }
}

int run_session(const GlobalOptions& global, const RunSpec& spec) {
  return run_session(
      global, [&](TrainingSession& session, TrainControl& control, SessionObserver& observer) {
        return session.start(spec, control, observer);
      });
}

}  // namespace athanor
