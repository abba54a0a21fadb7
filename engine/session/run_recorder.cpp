// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/run_recorder.h"

#include <algorithm>

#include "engine/base/machine.h"

namespace athanor {

namespace {
constexpr double kFlush_seconds = 0.5;
}

RunRecorder::RunRecorder(RunStore& store, RunRecord record, SessionObserver& observer)
    : store_(store),
      record_(std::move(record)),
      history_(store.run_folder(record_.id)),
      observer_(observer) {}

template <class Write>
void RunRecorder::write_or_wait(const Write& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::busy) throw;
    if (!told_busy_) {
      observer_.on_notice({.title = "The run list is in use elsewhere",
                           .text = error.message() + " Training goes on meanwhile.",
                           .details = error.context()});
    }
    told_busy_ = true;
  }
}

void RunRecorder::flush() {
  record_.updated_ms = now_ms();
  record_.peak_resident_bytes = peak_resident_bytes();
  store_.append(record_.id, waiting_);
  history_.append(waiting_);
  waiting_.clear();
  store_.update_run(record_);
  since_flush_ = Stopwatch();
}

void RunRecorder::on_step(const StepMetrics& metrics) {
  record_.step = metrics.step;
  record_.tokens = metrics.tokens;
  record_.seconds = metrics.seconds;
  record_.loss = metrics.loss;
  record_.tokens_per_second = metrics.tokens_per_second;
  waiting_.push_back({.step = metrics.step,
                      .tokens = metrics.tokens,
                      .seconds = metrics.seconds,
                      .loss = metrics.loss,
                      .learning_rate = metrics.learning_rate,
                      .gradient_norm = metrics.gradient_norm,
                      .tokens_per_second = metrics.tokens_per_second});
  if (since_flush_.seconds() >= kFlush_seconds) write_or_wait([&] { flush(); });
  observer_.on_step(metrics);
}

void RunRecorder::on_evaluation(const Evaluation& evaluation) {
  record_.validation_loss = evaluation.loss;
  record_.best_validation_loss =
      std::min(record_.best_validation_loss.value_or(evaluation.loss), evaluation.loss);
  bits_per_byte_ = evaluation.bits_per_byte;
  const EvaluationRow row{.step = evaluation.step,
                          .tokens = record_.tokens,
                          .seconds = record_.seconds,
                          .loss = evaluation.loss,
                          .bits_per_byte = evaluation.bits_per_byte};
  history_.append(row);
  write_or_wait([&] { store_.append(record_.id, row); });
  observer_.on_evaluation(evaluation);
}

void RunRecorder::on_checkpoint(const SavedCheckpoint& checkpoint) {
  write_or_wait([&] {
    flush();
    store_.append(record_.id, CheckpointRow{.step = checkpoint.step,
                                            .path = checkpoint.path.string(),
                                            .time_ms = now_ms(),
                                            .validation_loss = checkpoint.validation_loss,
                                            .best = checkpoint.best});
    std::vector<std::int64_t> steps;
    for (const auto& entry : CheckpointFolder(checkpoint.path.parent_path()).list()) {
      steps.push_back(entry.step);
    }
    store_.keep_checkpoints(record_.id, steps);
  });
  observer_.on_checkpoint(checkpoint);
}

void RunRecorder::on_checkpoint_failed(std::int64_t step, const std::string& problem) {
  const Notice notice{.title = "The checkpoint of step " + std::to_string(step) + " was not saved",
                      .text = problem + " Training goes on; the checkpoints before it are kept.",
                      .details = {}};
  event("checkpoint_failed", notice.sentence());
  observer_.on_notice(notice);
}

void RunRecorder::on_disk_low(const std::string& problem) {
  const Notice notice{.title = "The disk is nearly full",
                      .text = problem + " Training goes on; the checkpoints saved so far are kept.",
                      .details = {}};
  event("disk_low", notice.sentence());
  observer_.on_notice(notice);
}

void RunRecorder::on_paused(bool paused) {
  record_.status = paused ? RunStatus::paused : RunStatus::running;
  write_or_wait([&] { flush(); });
  event(paused ? "paused" : "continued", paused ? "Paused by hand" : "Went on");
  observer_.on_paused(paused);
}

void RunRecorder::event(const std::string& kind, const std::string& text) {
  write_or_wait([&] {
    store_.append(record_.id,
                  EventRow{.time_ms = now_ms(), .step = record_.step, .kind = kind, .text = text});
  });
}

void RunRecorder::close(RunStatus status, const std::string& problem) {
  record_.status = status;
  record_.problem = problem;
  flush();
  event(std::string(name_of(status)), problem);
}

}  // namespace athanor
