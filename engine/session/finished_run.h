// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/atomic_folder.h"
#include "engine/base/cancel_token.h"
#include "engine/base/json_fwd.h"
#include "engine/data/progress.h"
#include "engine/io/weight_source.h"
#include "engine/model/parameters.h"
#include "engine/session/run_spec.h"
#include "engine/store/run_store.h"

namespace athanor {

/// A run that is made at once instead of trained: finished, with one checkpoint of step 0. Goes
/// without a trace unless commit() is called. Opens a store of its own.
class FinishedRun {
 public:
  explicit FinishedRun(std::filesystem::path home);

  /// Where its files are to be written.
  const std::filesystem::path& folder() const { return folder_.path(); }
  /// Puts it among the runs, with an event that says where it is from.
  RunRecord commit(const RunSpec& spec, std::int64_t parameters, const std::string& event_kind,
                   const std::string& event_text);

 private:
  std::filesystem::path home_;
  AtomicFolder folder_;
  RunLock lock_;
};

/// The weights as a checkpoint of step 0 in <run folder>/checkpoints, without anything to go on
/// training with. Throws io and Cancelled.
void write_first_checkpoint(const std::filesystem::path& run_folder,
                            const ParameterList& parameters, const WeightSource& weights,
                            const Json& state, const char* stage, const CancelToken& cancel,
                            const ProgressCallback& progress);

}  // namespace athanor
