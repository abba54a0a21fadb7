// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/data/batch_loader.h"
#include "engine/data/batch_rows.h"

namespace athanor {

EvaluationLoader::EvaluationLoader(const TokenShard& shard, std::int32_t end_of_text,
                                   std::int64_t context)
    : shard_(shard),
      end_of_text_(end_of_text),
      context_(context),
      window_(static_cast<std::size_t>(context + 1)) {
  if (context < 1 || shard.tokens() < 2) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("The held-out text has {} tokens, but at least 2 are needed to measure a "
                    "loss. Choose a longer text or hold out a larger part.",
                    shard.tokens()));
  }
}

bool EvaluationLoader::next(HostBatch& batch) {
  check_batch(batch, context_);
  const std::int64_t all = shard_.tokens() - 1;
  const std::int64_t total = token_limit_ > 0 ? std::min(token_limit_, all) : all;
  if (position_ >= total) return false;
  batch.trained_tokens = 0;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::int64_t targets = std::min(context_, total - position_);
    if (targets > 0) {
      shard_.read(position_, std::span(window_).first(static_cast<std::size_t>(targets + 1)));
    }
    fill_row(window_, targets, end_of_text_, batch, row);
    position_ += targets;
    batch.trained_tokens += targets;
  }
  return true;
}

}  // namespace athanor
