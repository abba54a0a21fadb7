// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/backend/registry.h"
#include "engine/session/base_model.h"
#include "engine/session/prepared_data.h"
#include "engine/session/run_spec.h"
#include "engine/store/run_store.h"
#include "engine/train/trainer.h"

namespace athanor {

/// What is known once a run stands ready to take its first step.
struct SessionStart {
  RunRecord record;
  RunSpec spec;
  TrainPlan plan;
  std::string device_id;  ///< Device::id that it runs on
  DeviceInfo device;
  std::int64_t allocated_bytes = 0;  ///< of the arena; equals plan.memory.peak_bytes
  std::int64_t first_step = 0;       ///< 0, or the step resumed from
  double unigram_entropy = 0;        ///< nats per token
  std::int64_t train_tokens = 0;
  std::int64_t validation_tokens = 0;
};

/// Hears of a training session, on the thread that called TrainingSession. Everything told here has
/// been entered into the store already, or will be within half a second.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  /// Long work before training: reading, tokenizing…
  virtual void on_stage(const std::string& stage, std::int64_t done, std::int64_t total) = 0;
  /// The same of the text, in numbers.
  virtual void on_corpus(const CorpusProgress& /*progress*/) {}
  virtual void on_started(const SessionStart& start) = 0;
  virtual void on_step(const StepMetrics& metrics) = 0;
  virtual void on_evaluation(const Evaluation& evaluation) = 0;
  virtual void on_checkpoint(const SavedCheckpoint& checkpoint) = 0;
  virtual void on_paused(bool paused) = 0;
  /// Something a person should know while training goes on: a damaged checkpoint passed over, a
  /// save that failed, a store that is busy.
  virtual void on_notice(const Notice& notice) = 0;
};

struct SessionEnd {
  RunRecord record;  ///< as stored, unless that failed too; record.problem says what went wrong
  ErrorKind problem_kind = ErrorKind::internal;  ///< meaningful when record.problem is not empty
  double unigram_entropy = 0;
  double bits_per_byte = 0;  ///< of the latest evaluation, 0 before the first
};

/// Trains runs from start to end: prepares the data, plans the memory, keeps the run's folder and
/// its record in the store. Opens a store of its own, so that any thread may run a session.
class TrainingSession {
 public:
  explicit TrainingSession(std::filesystem::path home, BackendOptions options = {})
      : home_(std::move(home)), options_(std::move(options)) {}

  /// Throws Error before a run exists (settings, data, memory) and Cancelled when stopped until
  /// then; afterwards every end, a failure too, is in the record.
  /// `rehearsal` of these very settings, where there was one, is kept with the run.
  SessionEnd start(const RunSpec& spec, TrainControl& control, SessionObserver& observer,
                   const std::optional<RehearsalRow>& rehearsal = {});

  struct ResumeOptions {
    double learning_rate_scale = 1;  ///< multiplies the run's learning rate from here on
    /// Of the checkpoint to go on from. What was trained after it is given up: its checkpoints are
    /// moved to <run folder>/abandoned-<n>, its curve is kept as a tail.
    std::optional<std::int64_t> step;
  };
  /// Goes on from the newest good checkpoint, or the one asked for, to the bit as if it had never
  /// stopped. Throws not_found for a run or checkpoint that does not exist, busy when it is being
  /// trained by another process, invalid_argument when it is finished or has no checkpoint, damaged
  /// when none is good.
  SessionEnd resume(std::int64_t run_id, const ResumeOptions& options, TrainControl& control,
                    SessionObserver& observer);

 private:
  /// What a run goes on from.
  struct Resumed {
    CheckpointFolder::Loaded checkpoint;
    Notice notice;           ///< of newer checkpoints that are damaged; may be empty
    bool goes_back = false;  ///< newer ones are given up
  };
  static Resumed checkpoint_of(const RunRecord& record, const CheckpointFolder& checkpoints,
                               std::optional<std::int64_t> step);
  /// Opens the run that `spec` begins from.
  BaseModel begin_from(RunSpec& spec, SessionObserver& observer) const;
  /// What the first step works on: new weights where neither is there.
  struct Beginning {
    const Resumed* resumed = nullptr;
    const BaseModel* base = nullptr;
  };
  SessionEnd train(RunStore& store, RunRecord record, const RunSpec& spec, PreparedData& data,
                   const Beginning& beginning, TrainControl& control, SessionObserver& observer);

  std::filesystem::path home_;
  BackendOptions options_;
};

/// What a run would need on a device of this machine; throws for settings or a device that cannot
/// be used.
struct RunEstimate {
  TrainPlan plan;
  std::int64_t capacity_bytes = 0;   ///< the device's whole memory
  std::int64_t available_bytes = 0;  ///< of it, what a run could take now
  bool fits = false;
};
RunEstimate estimate_run(const RunSpec& spec, const BackendOptions& options = {});

}  // namespace athanor
