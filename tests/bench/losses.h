// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/base/json.h"
#include "engine/train/trainer.h"

namespace athanor {

/// Keeps every step's figures, and ends the run after its last step by an exception: neither the
/// evaluation nor the checkpoint of a run's end is wanted.
class Losses : public TrainObserver {
 public:
  explicit Losses(std::int64_t last_step) : last_step_(last_step) {}

  void on_step(const StepMetrics& metrics) override {
    steps.push_back({{"loss", metrics.loss},
                     {"learning_rate", metrics.learning_rate},
                     {"seconds", metrics.seconds},
                     {"gradient_norm", metrics.gradient_norm}});
    if (metrics.step == last_step_) throw Cancelled();
  }
  void on_evaluation(const Evaluation&) override {}
  void on_checkpoint(const SavedCheckpoint&) override {}
  void on_disk_low(const std::string&) override {}
  void on_checkpoint_failed(std::int64_t, const std::string&) override {}
  void on_paused(bool) override {}

  Json steps = Json::array();

 private:
  std::int64_t last_step_;
};

}  // namespace athanor
