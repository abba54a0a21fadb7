// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/session/training_session.h"

namespace athanor {

/// Keeps what a session tells, and may act at a step.
class Listener : public SessionObserver {
 public:
  void on_stage(const std::string& stage, std::int64_t, std::int64_t) override {
    stages.insert(stage);
  }
  void on_started(const SessionStart& start) override { started = start; }
  void on_step(const StepMetrics& metrics) override {
    steps.push_back(metrics);
    if (at_step) at_step(metrics.step);
  }
  void on_evaluation(const Evaluation& evaluation) override { evaluations.push_back(evaluation); }
  void on_checkpoint(const SavedCheckpoint& checkpoint) override {
    checkpoints.push_back(checkpoint);
  }
  void on_paused(bool) override {}
  void on_notice(const Notice& notice) override {
    notices.push_back(notice);
    noticed_at_step = started.first_step;
  }

  std::function<void(std::int64_t)> at_step;
  std::set<std::string> stages;
  SessionStart started;
  std::vector<StepMetrics> steps;
  std::vector<Evaluation> evaluations;
  std::vector<SavedCheckpoint> checkpoints;
  std::vector<Notice> notices;
  std::int64_t noticed_at_step = 0;
};

}  // namespace athanor
