// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <optional>

#include "engine/base/notice.h"
#include "engine/data/corpus_progress.h"
#include "engine/data/example_shard.h"
#include "engine/data/tokenize.h"
#include "engine/session/run_spec.h"

namespace athanor {

/// A run's text as tokens, cached in <home>/data/<key>/ where the key follows from the dataset's
/// fingerprint and the tokenizer's or, where one is trained, the vocabulary size: the same text is
/// tokenized once.
struct PreparedData {
  std::filesystem::path folder;
  Tokenizer tokenizer;
  TokenShard train;
  TokenShard validation;
  std::int64_t text_bytes = 0;
  std::int64_t validation_bytes = 0;
  /// Nats per held-out token of a model that knows only how often each token occurs in the training
  /// part: what any real model must beat.
  double unigram_entropy = 0;
  /// Sixteen hexadecimal digits that follow from the content of every file and from all settings
  /// that say how documents are made of them and which are held out; not from names or times.
  std::string fingerprint;
  CorpusCounts counts;  ///< as found when it was prepared
  /// Of fine-tuning: what of the two shards is trained.
  std::optional<ExampleShard> train_examples = {};
  std::optional<ExampleShard> validation_examples = {};
};

/// Makes or reuses the tokens of `spec`'s text. A damaged cache is made again; one that is stopped
/// or fails leaves nothing. Throws what Corpus, tokenize_corpus and open_tokenizer throw, and
/// invalid_argument when the context is longer than a part of the text or the model's vocabulary
/// smaller than the tokenizer's.
PreparedData prepare_data(const std::filesystem::path& home, const RunSpec& spec,
                          const CancelToken& cancel, const ProgressCallback& progress,
                          const CorpusCallback& corpus = {});

/// What a person should know of data that is not as it should be; empty when it is.
Notice notice_about(const PreparedData& data);

/// Links the data's files into <run folder>/data, so that the folder alone is enough to go on, on
/// another machine too. Costs no space; disks that know no links are left without.
void keep_with_run(const PreparedData& data, const std::filesystem::path& run_folder);

/// The fingerprint of the data that keep_with_run() kept; empty where there is none.
std::string kept_fingerprint(const std::filesystem::path& run_folder);

/// The data a run was started with: from the cache by its key (the folder's name), else from what
/// was kept with the run, else from the text again, with the tokenizer that `run_folder` keeps.
/// Throws damaged when the text has changed since.
PreparedData reopen_data(const std::filesystem::path& home, const std::string& key,
                         const std::filesystem::path& run_folder, RunSpec spec,
                         const CancelToken& cancel, const ProgressCallback& progress);

/// The built-in stories, written on first use to <home>/data/stories-<recipe>.txt, and their
/// question–answer set beside them.
std::filesystem::path story_corpus_file(const std::filesystem::path& home,
                                        const CancelToken& cancel,
                                        const ProgressCallback& progress);
/// The question–answer set alone.
std::filesystem::path story_questions_file(const std::filesystem::path& home,
                                           const CancelToken& cancel,
                                           const ProgressCallback& progress);

}  // namespace athanor
