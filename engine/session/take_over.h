// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/cancel_token.h"
#include "engine/data/progress.h"

namespace athanor {

/// Takes over the folder of a run, from another machine or another home: copies it to <home>/runs
/// and enters it, with its checkpoints and curves, as interrupted or finished. Returns its id.
/// Throws damaged when the folder is no run's, busy while it is being trained, io for a full disk;
/// nothing is left behind then.
std::int64_t take_over_run(const std::filesystem::path& home, const std::filesystem::path& folder,
                           const CancelToken& cancel, const ProgressCallback& progress);

}  // namespace athanor
