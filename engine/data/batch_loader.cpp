// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/batch_loader.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/data/batch_rows.h"
#include "engine/data/window_order.h"

namespace athanor {

HostBatch::HostBatch(std::int64_t rows_, std::int64_t context_)
    : rows(rows_),
      context(context_),
      tokens(static_cast<std::size_t>(rows * context)),
      targets(tokens.size()),
      document_starts(tokens.size()) {}

BatchLoader::BatchLoader(const TokenShard& shard, std::int32_t end_of_text, std::int64_t context,
                         std::uint64_t seed)
    : shard_(shard),
      end_of_text_(end_of_text),
      context_(context),
      seed_(seed),
      window_(static_cast<std::size_t>(context + 1)) {
  if (context < 1 || shard.tokens() <= context) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("The training text has {} tokens, but one window of context {} needs {}. "
                    "Choose a longer text or a smaller context.",
                    shard.tokens(), context, context + 1));
  }
}

std::int64_t BatchLoader::windows_per_epoch() const {
  // Windows overlap by one token and must fit after the largest shift.
  return std::max<std::int64_t>(1, (shard_.tokens() - context_) / context_);
}

void BatchLoader::next(HostBatch& batch) {
  check_batch(batch, context_);
  const std::int64_t windows = windows_per_epoch();
  const std::int64_t spare = shard_.tokens() - 1 - windows * context_;
  const std::int64_t shifts = std::min(context_ - 1, spare) + 1;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    if (state_.window >= windows) state_ = {state_.epoch + 1, 0};
    const WindowOrder order(windows, seed_, state_.epoch);
    const std::int64_t window = order.at(state_.window++);
    shard_.read(order.shift(shifts) + window * context_, window_);
    fill_row(window_, context_, end_of_text_, batch, row);
  }
  batch.trained_tokens = batch.rows * context_;
}

}  // namespace athanor
