// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/io/checkpoint.h"
#include "engine/session/run_spec.h"

namespace athanor {

/// <run folder>/spec.json
RunSpec read_run_spec(const std::filesystem::path& run_folder);

/// A run's checkpoint of `step`, or the newest good one; `notice` takes what is to be said of newer
/// ones that are damaged. Throws not_found or damaged.
CheckpointFolder::Loaded load_run_checkpoint(const std::filesystem::path& run_folder,
                                             std::optional<std::int64_t> step, std::string& notice);

}  // namespace athanor
