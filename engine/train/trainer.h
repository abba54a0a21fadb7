// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/data/batch_loader.h"
#include "engine/data/example_shard.h"
#include "engine/io/weight_source.h"
#include "engine/train/checkpoint_saver.h"
#include "engine/train/observer.h"
#include "engine/train/train_control.h"
#include "engine/train/train_memory.h"

namespace athanor {

/// How far a run is; saved with each checkpoint and restored from it.
struct TrainState {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  LoaderState loader;
  std::optional<std::int64_t> best_step;
  double best_loss = 0;
  double validation_loss = 0;  ///< of the latest evaluation, 0 before the first
};

Json train_state_to_json(const TrainState& state);
/// Throws damaged naming `place` when a field is missing or impossible.
TrainState train_state_from_json(const Json& json, const std::string& place);

/// The model that adapters are trained beside.
struct FrozenBase {
  const WeightSource* weights = nullptr;  ///< must outlive the trainer's constructor
  std::string path;                       ///< of the checkpoint's folder, for messages
  std::string fingerprint;                ///< of its weights: a checksum in hexadecimal digits
};

/// Trains one model on one backend, inside an arena of exactly the planned size. All methods on one
/// thread; only the TrainControl is shared with others.
class Trainer {
 public:
  struct Inputs {
    ModelConfig model;
    TrainConfig train;
    const TokenShard& train_tokens;
    const TokenShard& validation_tokens;
    std::int32_t end_of_text = 0;
    std::int64_t validation_bytes = 0;  ///< of text behind the held-out tokens
    std::filesystem::path checkpoints;
    /// With both, their trained tokens are the targets instead of all of the two shards above.
    const ExampleShard* train_examples = nullptr;
    const ExampleShard* validation_examples = nullptr;
    /// What a new run begins with instead of random numbers.
    const WeightSource* first_weights = nullptr;
    FrozenBase base = {};  ///< with train.lora
  };

  /// Plans, reserves the arenas and starts from new weights, or from `from` with all of its state.
  /// What is offloaded goes to a file in the folder that `checkpoints` is in.
  Trainer(Inputs inputs, Backend& backend, const CheckpointFolder::Loaded* from = nullptr);

  enum class End { finished, stopped };

  /// Trains to the last step, or to a stop; then the last complete step has been saved. A loss or
  /// gradient that is not finite throws non_finite naming the step, before anything of that
  /// step reaches the weights.
  End run(TrainControl& control, TrainObserver& observer);

  const TrainPlan& plan() const { return plan_; }
  const TrainState& state() const { return state_; }
  std::int64_t allocated_bytes() const { return arenas_.device.allocated_bytes(); }
  /// For tests and exports.
  const TrainMemory& memory() const { return memory_; }
  Evaluation evaluate();

 private:
  void tune();
  void initialise();
  std::vector<float> first_values(const Parameter& parameter, int index) const;
  void check_kinds(const CheckpointFolder::Loaded& from) const;
  /// Throws damaged when a checkpoint's adapters were trained beside another model.
  void check_base(const CheckpointFolder::Loaded& from) const;
  Json state_to_json() const;
  void restore(const CheckpointFolder::Loaded& from);
  /// False when a stop came before the step was complete: nothing of it remains.
  bool step(TrainControl& control, TrainObserver& observer);
  std::int64_t load_batches();
  /// Serves save and pause requests; returns the seconds spent waiting.
  double attend(TrainControl& control, TrainObserver& observer);
  void upload(const HostBatch& batch);
  double sum_losses();
  /// Once for a step. The loss is entered in the step's checkpoint, where there is one.
  void evaluate_and_tell(TrainObserver& observer);
  bool due(std::int64_t interval) const;
  bool save_is_due() const;
  /// Copies a checkpoint of the last complete step and leaves the rest to a thread. A failure is
  /// thrown where the save is `required`, as the last of a sitting is; others are told and go by.
  void save(TrainObserver& observer, bool required);
  /// Waits for the save under way, if there is one, and tells of it.
  void settle(TrainObserver& observer, bool required);
  void handle_failed_save(const Error& error, TrainObserver& observer, bool required) const;
  /// Enters an evaluation in the checkpoint of its step; true for the best so far.
  bool enter_loss(std::int64_t step, double loss);
  bool consider_best(std::int64_t step, double loss);
  void tell_of_room(TrainObserver& observer);
  /// After a step what is due is saved first, so that a long evaluation puts nothing at risk.
  End run_steps(TrainControl& control, TrainObserver& observer);
  [[noreturn]] void throw_non_finite(const std::string& what, std::int64_t step) const;
  std::vector<NamedTensor> named_weights() const;
  /// What the optimizer remembers, and what is kept beside BF16 weights.
  std::vector<NamedTensor> named_optimizer() const;

  Inputs inputs_;
  Backend& backend_;
  TrainPlan plan_;
  TrainArenas arenas_;
  TrainMemory memory_;
  std::unique_ptr<BatchSource> loader_;
  std::unique_ptr<EvaluationSource> evaluation_loader_;
  std::vector<HostBatch> batches_;  ///< of one step
  HostBatch evaluation_batch_;
  std::vector<std::byte> losses_;
  TrainState state_;
  CheckpointSaver saver_;
  std::int64_t saving_step_ = -1;      ///< of the save under way
  std::optional<double> saving_loss_;  ///< of its evaluation
  std::int64_t saved_step_ = -1;
  std::int64_t evaluated_step_ = -1;
  Stopwatch since_save_;
  bool told_disk_low_ = false;
};

}  // namespace athanor
