// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace athanor {

struct StepMetrics {
  std::int64_t step = 0;    ///< steps done, from 1
  std::int64_t tokens = 0;  ///< trained since the run began
  double seconds = 0;       ///< spent training since the run began, over all its sittings
  double loss = 0;          ///< nats per token, mean over the global batch, before the update
  double learning_rate = 0;
  double gradient_norm = 0;      ///< before clipping
  double tokens_per_second = 0;  ///< of this step
};

struct Evaluation {
  std::int64_t step = 0;
  double loss = 0;  ///< nats per token over the held-out part
  double bits_per_byte = 0;
  std::int64_t tokens = 0;
};

struct SavedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::optional<double> validation_loss;  ///< where the model was evaluated at this step
  bool best = false;  ///< the lowest validation loss of the run's checkpoints so far
};

/// Hears of everything a trainer does, on the trainer's thread. What it throws ends the run.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_step(const StepMetrics& metrics) = 0;
  virtual void on_evaluation(const Evaluation& evaluation) = 0;
  /// It is on the disk; training may have gone on meanwhile.
  virtual void on_checkpoint(const SavedCheckpoint& checkpoint) = 0;
  /// A checkpoint could not be saved (a full disk…); training goes on. `problem` is a sentence.
  virtual void on_checkpoint_failed(std::int64_t step, const std::string& problem) = 0;
  /// The disk has no room for the next checkpoint; told once until it has again.
  virtual void on_disk_low(const std::string& problem) = 0;
  virtual void on_paused(bool paused) = 0;
};

}  // namespace athanor
