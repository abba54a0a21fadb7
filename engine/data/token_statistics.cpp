// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/token_statistics.h"

#include <algorithm>
#include <bit>

#include "engine/base/error.h"

namespace athanor {

namespace {

constexpr std::int64_t kCounted_tokens = 1 << 16;

/// Takes in documents' lengths, in their order.
class Lengths {
 public:
  explicit Lengths(std::int64_t context) : context_(context), counts_(kCounted_tokens + 1) {}

  void add(std::int64_t tokens) {
    const auto power = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(tokens)));
    if (powers_.size() < power) powers_.resize(power);
    ++powers_[power - 1];
    const std::int64_t counted =
        tokens <= kCounted_tokens
            ? tokens
            : std::min<std::int64_t>(kCounted_tokens, std::int64_t{1} << (power - 1));
    ++counts_[static_cast<std::size_t>(counted)];
    ++documents_;
    longest_ = std::max(longest_, tokens);
    longer_ += tokens > context_ ? 1 : 0;
    cut_ += begin_ / context_ != (begin_ + tokens - 1) / context_ ? 1 : 0;
    rows_ += (tokens + context_ - 1) / context_;
    begin_ += tokens;
  }

  void tell(TokenStatistics& result) const {
    result.documents = documents_;
    result.longest_tokens = longest_;
    result.lengths = powers_;
    result.longer_documents = longer_;
    result.cut_documents = cut_;
    std::int64_t seen = 0;
    while (documents_ > 0 && 2 * seen < documents_)
      seen += counts_[static_cast<std::size_t>(result.median_tokens++)];
    result.median_tokens = std::max<std::int64_t>(0, result.median_tokens - 1);
    if (rows_ == 0) return;
    result.mean_tokens = static_cast<double>(begin_) / static_cast<double>(documents_);
    result.padded_efficiency =
        static_cast<double>(begin_) / (static_cast<double>(rows_) * static_cast<double>(context_));
  }

 private:
  std::int64_t context_;
  std::vector<std::int64_t> counts_;  ///< of documents of so many tokens
  std::vector<std::int64_t> powers_;
  std::int64_t documents_ = 0;
  std::int64_t longest_ = 0;
  std::int64_t longer_ = 0;
  std::int64_t cut_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t begin_ = 0;
};

}  // namespace

TokenStatistics token_statistics(const TokenShard& shard, std::int32_t end_of_text,
                                 std::int64_t context, const CancelToken& cancel) {
  if (context < 1) {
    throw Error(ErrorKind::invalid_argument, "The context must be at least one token.");
  }
  TokenStatistics result{.tokens = shard.tokens(), .context = context};
  Lengths lengths(context);
  std::int64_t length = 0;
  shard.for_chunks([&](std::span<const std::int32_t> ids) {
    cancel.throw_if_requested();
    for (const std::int32_t id : ids) {
      ++length;
      if (id != end_of_text) continue;
      lengths.add(length);
      length = 0;
    }
  });
  if (length > 0) lengths.add(length);
  lengths.tell(result);
  if (shard.tokens() > context) {
    result.windows = BatchLoader(shard, end_of_text, context, 0).windows_per_epoch();
    result.packing_efficiency =
        static_cast<double>(result.windows * context) / static_cast<double>(shard.tokens());
  }
  return result;
}

HostBatch first_batch(const TokenShard& shard, std::int32_t end_of_text, std::int64_t rows,
                      std::int64_t context, std::uint64_t seed) {
  BatchLoader loader(shard, end_of_text, context, seed);
  HostBatch batch(rows, context);
  loader.next(batch);
  return batch;
}

}  // namespace athanor
