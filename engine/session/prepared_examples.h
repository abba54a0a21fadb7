// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

#include "engine/base/notice.h"
#include "engine/session/base_model.h"
#include "engine/session/prepared_data.h"

namespace athanor {

/// A fine-tuning run's records as examples, cached in <home>/data/<key>/ where the key follows from
/// the records' content, all that decides what is made of them and the tokenizer's fingerprint.
/// Throws what tokenize_conversations and ChatTemplate throw.
PreparedData prepare_examples(const std::filesystem::path& home, const RunSpec& spec,
                              const Tokenizer& tokenizer, std::int32_t begin_of_text,
                              const CancelToken& cancel, const ProgressCallback& progress);

/// Those that a run was started with: from the cache by its key, else from what was kept with the
/// run, else from the records again. Throws damaged when the records have changed since.
PreparedData reopen_examples(const std::filesystem::path& home, const std::string& key,
                             const std::filesystem::path& run_folder, const RunSpec& spec,
                             const CancelToken& cancel, const ProgressCallback& progress);

/// What was made of the records.
TokenizedConversations counts_of_examples(const std::filesystem::path& folder);

/// What a person should know of records that are not trained as they are; empty when all are.
Notice notice_of_examples(const std::filesystem::path& folder);

/// Sets train.steps from fine_tuning.epochs, if those are given, and measures and saves once in an
/// epoch at least.
void count_steps(RunSpec& spec, const PreparedData& data);

}  // namespace athanor
