// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QtCore/QTemporaryDir>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/tokenizer.h"
#include "engine/train/trainer.h"

namespace athanor {

/// About `bytes` bytes of plain sentences, always the same.
std::string tiny_text(std::int64_t bytes);

/// A small text as a run would see it: tokenizer and shards in a folder that goes with the object.
struct TinyData {
  TinyData();

  QTemporaryDir folder;
  Tokenizer tokenizer;
  std::int64_t validation_bytes = 0;
  TokenShard train;
  TokenShard validation;

  /// Inputs for a trainer that keeps its checkpoints in `checkpoints` of this folder.
  Trainer::Inputs inputs(const ModelConfig& model, const TrainConfig& config,
                         const std::string& checkpoints = "checkpoints") const;
};

/// Two layers, every kind of tensor small; 300 tokens, context 32.
ModelConfig tiny_model();
/// Four sequences at a time, evaluated and saved every ten steps.
TrainConfig tiny_train(std::int64_t steps);

/// Keeps everything it hears.
class TrainRecorder : public TrainObserver {
 public:
  void on_step(const StepMetrics& metrics) override { steps.push_back(metrics); }
  void on_evaluation(const Evaluation& evaluation) override { evaluations.push_back(evaluation); }
  void on_checkpoint(const SavedCheckpoint& saved) override { checkpoints.push_back(saved); }
  void on_checkpoint_failed(std::int64_t, const std::string& problem) override {
    problems.push_back(problem);
  }
  void on_disk_low(const std::string& problem) override { problems.push_back(problem); }
  void on_paused(bool paused) override { pauses.push_back(paused); }

  std::vector<StepMetrics> steps;
  std::vector<Evaluation> evaluations;
  std::vector<SavedCheckpoint> checkpoints;
  std::vector<std::string> problems;
  std::vector<bool> pauses;
};

/// Stops the run after step `stop_at`; 0: never.
class StoppingRecorder : public TrainRecorder {
 public:
  StoppingRecorder(TrainControl& control, std::int64_t stop_at)
      : control_(control), stop_at_(stop_at) {}
  void on_step(const StepMetrics& metrics) override {
    TrainRecorder::on_step(metrics);
    if (metrics.step == stop_at_) control_.stop();
  }

 private:
  TrainControl& control_;
  std::int64_t stop_at_;
};

/// The backend that a run would take.
std::unique_ptr<Backend> best_backend(int threads = 0);

bool same_bytes(const Tensor& a, const Tensor& b);

/// The losses of the steps that the trainer has before it, up to step `stop_at`; 0: of all.
std::vector<double> losses_of(Trainer& trainer, std::int64_t stop_at = 0);

/// The losses of `steps` steps of the tiny model on `backend`.
std::vector<double> tiny_curve(Backend& backend, std::int64_t steps);

}  // namespace athanor
