// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/terminal_progress.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/cli/output.h"

namespace athanor {

namespace {
constexpr double kTerminalInterval_seconds = 0.1;
constexpr double kLogInterval_seconds = 3;
constexpr const char* kClearLine = "\r\x1b[K";
}  // namespace

bool TerminalProgress::is_due() {
  const double interval = terminal_ ? kTerminalInterval_seconds : kLogInterval_seconds;
  if (anything_shown_ && since_shown_.seconds() < interval) return false;
  anything_shown_ = true;
  since_shown_ = Stopwatch();
  return true;
}

void TerminalProgress::show_passing(const std::string& line) {
  if (!terminal_) return print_line(line);
  print(kClearLine + line);
  passing_shown_ = true;
}

void TerminalProgress::show_lasting(const std::string& line) {
  finish();
  print_line(line);
}

void TerminalProgress::finish() {
  if (passing_shown_) print(kClearLine);
  passing_shown_ = false;
}

void TerminalProgress::on_stage(const std::string& stage, std::int64_t done, std::int64_t total) {
  const bool is_new = stage != stage_;
  stage_ = stage;
  if (!is_due() && !is_new) return;
  if (is_new || total <= 0) return show_passing(stage + "…");
  show_passing(fmt::format("{}: {:.0f} %{}", stage,
                           100.0 * static_cast<double>(done) / static_cast<double>(total),
                           corpus_stage_ == stage ? corpus_counts_ : std::string()));
}

void TerminalProgress::on_corpus(const CorpusProgress& progress) {
  const CorpusCounts& counts = progress.counts;
  corpus_stage_ = progress.stage;
  corpus_counts_.clear();
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) corpus_counts_ += fmt::format(", {} {}", grouped(count), what);
  };
  add(counts.documents, "documents");
  add(counts.tokens, "tokens");
  add(counts.duplicates, "duplicates");
  add(counts.bad_records, "bad records");
  if (progress.seconds_left >= 1) {
    corpus_counts_ += fmt::format(", {} left", duration_text(progress.seconds_left));
  }
}

void TerminalProgress::on_started(const SessionStart& start) {
  steps_ = start.spec.train.steps;
  first_step_ = start.first_step;
  first_seconds_ = start.record.seconds;
  anything_shown_ = false;
  const bool all_trained = start.plan.trained_parameters == start.plan.parameters;
  const std::string beside =
      all_trained ? std::string()
                  : fmt::format(", {} trained beside them", grouped(start.plan.trained_parameters));
  show_lasting(fmt::format("Run {} \"{}\": {} parameters{}, {} training tokens, on {}.",
                           start.record.id, single_line(start.record.name),
                           grouped(start.plan.parameters), beside, grouped(start.train_tokens),
                           single_line(start.record.device)));
  if (first_step_ > 0) show_lasting(fmt::format("Going on from step {}.", grouped(first_step_)));
}

double TerminalProgress::seconds_left(const StepMetrics& metrics) const {
  const auto done = static_cast<double>(metrics.step - first_step_);
  return (metrics.seconds - first_seconds_) / done * static_cast<double>(steps_ - metrics.step);
}

void TerminalProgress::on_step(const StepMetrics& metrics) {
  if (!is_due()) return;
  show_passing(fmt::format("step {}/{}  loss {:.4f}  {} tokens/s  {} left", metrics.step, steps_,
                           metrics.loss, grouped(std::llround(metrics.tokens_per_second)),
                           duration_text(seconds_left(metrics))));
}

void TerminalProgress::on_evaluation(const Evaluation& evaluation) {
  show_lasting(fmt::format("step {}/{}  validation loss {:.4f} nats/token, {:.4f} bits per byte",
                           evaluation.step, steps_, evaluation.loss, evaluation.bits_per_byte));
}

void TerminalProgress::on_checkpoint(const SavedCheckpoint& checkpoint) {
  show_lasting(fmt::format("step {}/{}  saved{}", checkpoint.step, steps_,
                           checkpoint.best ? ", the best so far" : ""));
}

void TerminalProgress::on_paused(bool paused) {
  show_lasting(paused ? "Paused." : "Going on.");
}

void TerminalProgress::on_notice(const Notice& notice) {
  show_lasting("Note: " + notice.sentence());
}

}  // namespace athanor
