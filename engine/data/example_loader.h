// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/batch_loader.h"
#include "engine/data/example_shard.h"

namespace athanor {

/// Whole examples side by side in rows of `context` tokens: each goes, the longest first, where the
/// least room is left beside it (best fit decreasing). An example of n tokens takes n - 1 places,
/// for its last token is only a target. The same examples give the same rows.
class PackedRows {
 public:
  /// Throws invalid_argument for an example that is longer than a row.
  PackedRows(const ExampleShard& examples, std::int64_t context);

  std::int64_t rows() const { return static_cast<std::int64_t>(firsts_.size()) - 1; }
  /// Of a row; what is left is padding, each token a document of its own. Returns the targets.
  std::int64_t fill(std::int64_t row, std::int32_t padding, HostBatch& batch, std::int64_t to);

 private:
  const ExampleShard& examples_;
  std::vector<std::int64_t> order_;   ///< examples, row by row
  std::vector<std::int64_t> firsts_;  ///< in order_, and the end
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> row_marks_;
};

/// Serves examples to train on: every row once in an epoch, in an order that follows from (seed,
/// epoch). Targets are the trained tokens; an example sees nothing of its neighbours.
class ExampleLoader : public BatchSource {
 public:
  ExampleLoader(const ExampleShard& examples, std::int32_t padding, std::int64_t context,
                std::uint64_t seed);

  void next(HostBatch& batch) override;
  std::int64_t windows_per_epoch() const override { return rows_.rows(); }

 private:
  PackedRows rows_;
  std::int32_t padding_;
  std::int64_t context_;
  std::uint64_t seed_;
};

/// Walks all examples once.
class ExampleEvaluationLoader : public EvaluationSource {
 public:
  ExampleEvaluationLoader(const ExampleShard& examples, std::int32_t padding, std::int64_t context);

  bool next(HostBatch& batch) override;
  void restart() override;
  /// Rows are whole: those that begin before the limit count.
  void limit(std::int64_t tokens) override { token_limit_ = tokens; }

 private:
  PackedRows rows_;
  std::int32_t padding_;
  std::int64_t context_;
  std::int64_t row_ = 0;
  std::int64_t given_tokens_ = 0;
  std::int64_t token_limit_ = 0;
};

}  // namespace athanor
