// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

#include "engine/data/corpus.h"
#include "engine/data/token_shard.h"
#include "engine/data/tokenizer.h"

namespace athanor {

struct TokenizedCorpus {
  TokenShard::Info train;
  TokenShard::Info validation;
  /// Bytes of text in the validation part: bits per byte = nats per token × tokens ÷ bytes ÷ ln 2.
  std::int64_t validation_bytes = 0;
  CorpusCounts counts;
  ReadingLog log{{}};  ///< what was wrong in the files
};

/// Tokenizes all documents of a corpus and writes <folder>/train.tokens and validation.tokens.
///
/// Held out is each document whose hash falls below `validation_fraction` of all hashes: adding
/// documents moves no other to the other part. If that leaves a part empty, the document nearest to
/// the limit goes there. The only document of a corpus is cut: its last `validation_fraction`, from
/// a line's end, is held out.
///
/// By a source's weight w each of its training documents is there ⌊w⌋ times and, by its hash, with
/// the probability of what is left once more; one that is there no time is not held out either.
/// Copies come after all else, so that no window holds several.
///
/// Threads read ahead and encode side by side, the result does not depend on them. Throws what
/// reading throws, busy when a file was changed meanwhile, and invalid_argument for a corpus
/// without a document or too short to give both parts a token.
TokenizedCorpus tokenize_corpus(const Corpus& corpus, const Tokenizer& tokenizer,
                                double validation_fraction, const std::filesystem::path& folder,
                                const CancelToken& cancel, const CorpusCallback& progress = {});

}  // namespace athanor
