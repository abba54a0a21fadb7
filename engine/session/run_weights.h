// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/io/checkpoint.h"
#include "engine/io/weight_source.h"
#include "engine/model/adapted_weights.h"
#include "engine/session/run_spec.h"

namespace athanor {

/// The weights of a run's checkpoint, open for reading. Those of a run that trained adapters are
/// merged with the model they belong to.
class RunWeights {
 public:
  /// The checkpoint of `step`, or the newest good one; `notice` takes what is to be said of newer
  /// ones that are damaged. Throws not_found or damaged, also where the model that adapters belong
  /// to is gone, has changed or has another shape.
  static RunWeights open(const std::filesystem::path& run_folder, std::optional<std::int64_t> step,
                         std::string& notice);
  /// A checkpoint in its run's folder, by its own folder.
  static RunWeights open_checkpoint(const std::filesystem::path& checkpoint);
  /// What the adapters of a run with these settings are trained beside. Throws invalid_argument
  /// where it names none.
  static RunWeights open_base(const RunSpec& spec);

  const RunSpec& spec() const { return spec_; }
  std::int64_t step() const { return loaded_->step; }
  const std::filesystem::path& checkpoint() const { return loaded_->path; }
  std::filesystem::path run_folder() const { return loaded_->path.parent_path().parent_path(); }
  const WeightSource& source() const;
  /// Sixteen hexadecimal digits that other weights do not have.
  std::string fingerprint() const;
  /// The adapters alone; null of a run without.
  const WeightSource* adapters() const;

 private:
  RunWeights(RunSpec spec, CheckpointFolder::Loaded loaded, int depth);
  static RunWeights open_checkpoint(const std::filesystem::path& checkpoint, int depth);
  static RunWeights open_base(const RunSpec& spec, int depth);

  RunSpec spec_;
  // Each refers to the one before.
  std::unique_ptr<CheckpointFolder::Loaded> loaded_;
  std::unique_ptr<CheckpointWeights> own_;
  std::unique_ptr<RunWeights> base_;
  std::unique_ptr<AdaptedWeights> merged_;
};

}  // namespace athanor
