// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/base/cancel_token.h"
#include "engine/data/progress.h"
#include "engine/store/run_store.h"

namespace athanor {

/// A run's adapters for other programs, in PEFT's layout (exchange/peft_adapter.h). Throws
/// invalid_argument for a run that has none, and what loading a checkpoint throws.
std::int64_t export_adapter(const std::filesystem::path& run_folder,
                            std::optional<std::int64_t> step, const std::filesystem::path& folder);

/// Makes a run of another's model with its adapters merged into its weights, in FP32: finished,
/// with one checkpoint of step 0. Throws as import_model() does, and invalid_argument for a run
/// without adapters.
RunRecord merge_run(const std::filesystem::path& home, std::int64_t run,
                    std::optional<std::int64_t> step, const std::string& name,
                    const CancelToken& cancel, const ProgressCallback& progress);

/// Makes a run of a PEFT adapter for the newest checkpoint of run `base`: finished, with the
/// adapters as its checkpoint of step 0. Throws what read_peft_adapter() throws, also for an
/// adapter of another shape.
RunRecord import_adapter(const std::filesystem::path& home, const std::filesystem::path& folder,
                         std::int64_t base, const std::string& name);

}  // namespace athanor
