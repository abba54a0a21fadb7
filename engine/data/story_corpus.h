// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/cancel_token.h"
#include "engine/data/progress.h"

namespace athanor {

/// Version of the recipe: files made by another one are made again.
inline constexpr int kStoryRecipe = 1;

/// Writes about `bytes` of small English stories, one document each, ended by a "<|endoftext|>"
/// line: people with names, places, things, wishes, actions and consequences from one consistent
/// world. The same seed gives the same file. About 10 MB takes a second.
void write_story_corpus(const std::filesystem::path& path, std::int64_t bytes, std::uint64_t seed,
                        const CancelToken& cancel, const ProgressCallback& progress = {});

/// Writes `count` question–answer records about the same world as JSON Lines,
/// {"instruction": "…", "input": "…", "output": "…"}.
void write_story_questions(const std::filesystem::path& path, std::int64_t count,
                           std::uint64_t seed);

}  // namespace athanor
