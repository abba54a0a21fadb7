// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/exchange/foreign_model.h"
#include "engine/session/run_checkpoint.h"
#include "engine/session/run_spec.h"

namespace athanor {

/// The run that another begins from, at one of its checkpoints.
struct BaseModel {
  RunSpec spec;
  CheckpointFolder::Loaded checkpoint;
  Tokenizer tokenizer;
  ModelCard card;
  std::string notice;  ///< of newer checkpoints that are damaged; mostly empty
};

/// The checkpoint of `step`, or the newest good one. Throws not_found naming the run or step, and
/// damaged.
BaseModel open_base_model(const std::filesystem::path& home, std::int64_t run,
                          std::optional<std::int64_t> step);

/// How a base is usually fine-tuned: its model and settings, a tenth of its learning rate, the
/// records' file and format still to be named. An imported model brings no settings for training,
/// so it gets those of the smallest preset.
RunSpec fine_tuning_of(const BaseModel& base, std::int64_t run);

/// The base's own chat format, else alpaca, or plain where the context is small.
ChatStyle usual_style(const BaseModel& base);

/// Throws invalid_argument when a run of `spec` cannot begin with the base's weights.
void check_base_model(const BaseModel& base, const RunSpec& spec);

}  // namespace athanor
