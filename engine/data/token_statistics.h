// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/data/batch_loader.h"
#include "engine/data/token_shard.h"

namespace athanor {

/// How long a shard's documents are, and how they fit into windows of a context.
struct TokenStatistics {
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  double mean_tokens = 0;  ///< a document, its end-of-text token included
  std::int64_t median_tokens = 0;
  std::int64_t longest_tokens = 0;
  /// lengths[i] counts documents of [2^i, 2^(i+1)) tokens.
  std::vector<std::int64_t> lengths;

  std::int64_t context = 0;
  std::int64_t windows = 0;           ///< in one epoch
  std::int64_t longer_documents = 0;  ///< than the context: no window sees such a one whole
  std::int64_t cut_documents = 0;     ///< that lie in more than one window of the unshifted epoch
  /// Of the places in an epoch's windows, those that are trained: there is no padding, so only what
  /// is left after the last window is missing. tokens used ÷ tokens.
  double packing_efficiency = 0;
  /// For comparison: tokens ÷ places when each document had rows of its own, padded to the context.
  double padded_efficiency = 0;
};

/// Reads the whole shard once. Lengths beyond 2^16 tokens count for the median as the lower end of
/// their power of two.
TokenStatistics token_statistics(const TokenShard& shard, std::int32_t end_of_text,
                                 std::int64_t context, const CancelToken& cancel);

/// The micro-batch that a run with this seed begins with: tokens, targets and document starts.
HostBatch first_batch(const TokenShard& shard, std::int32_t end_of_text, std::int64_t rows,
                      std::int64_t context, std::uint64_t seed);

}  // namespace athanor
