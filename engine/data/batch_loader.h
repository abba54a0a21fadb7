// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/token_shard.h"

namespace athanor {

/// One micro-batch on the host, rows of `context` tokens. Allocated once, refilled in place.
struct HostBatch {
  std::int64_t rows = 0;
  std::int64_t context = 0;
  std::vector<std::int32_t> tokens;   ///< [rows × context]
  std::vector<std::int32_t> targets;  ///< [rows × context], -1 where nothing is trained
  std::vector<std::int32_t>
      document_starts;              ///< [rows × context], index in its row of the first token
                                    ///< of the token's document: attention sees no further
  std::int64_t trained_tokens = 0;  ///< targets that are not -1

  HostBatch() = default;
  HostBatch(std::int64_t rows, std::int64_t context);
};

/// All that a loader needs to go on exactly where it was.
struct LoaderState {
  std::int64_t epoch = 0;
  std::int64_t window = 0;  ///< windows already given in this epoch
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

/// Where a trainer's batches come from, without end.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual void next(HostBatch& batch) = 0;
  virtual std::int64_t windows_per_epoch() const = 0;
  const LoaderState& state() const { return state_; }
  void restore(const LoaderState& state) { state_ = state; }

 protected:
  LoaderState state_;
};

/// What a model is measured on, from its start to its end.
class EvaluationSource {
 public:
  virtual ~EvaluationSource() = default;
  /// False, and an untouched batch, when everything was given.
  virtual bool next(HostBatch& batch) = 0;
  virtual void restart() = 0;
  /// At most so many targets in all (0: all).
  virtual void limit(std::int64_t tokens) = 0;
};

/// Serves windows of context + 1 consecutive tokens of a packed shard. Each epoch shifts the
/// windows by a random offset and visits them in a random order, a keyed permutation of (seed,
/// epoch) that needs no memory; the end-of-text token that ends a document is a target, and the
/// next document starts after it. A shard shorter than a window throws invalid_argument with both
/// lengths.
class BatchLoader : public BatchSource {
 public:
  BatchLoader(const TokenShard& shard, std::int32_t end_of_text, std::int64_t context,
              std::uint64_t seed);

  void next(HostBatch& batch) override;
  std::int64_t windows_per_epoch() const override;

 private:
  const TokenShard& shard_;
  std::int32_t end_of_text_;
  std::int64_t context_;
  std::uint64_t seed_;
  std::vector<std::int32_t> window_;
};

/// Walks a shard once from its start without overlap, every token but the first a target exactly
/// once; the last window is padded with targets of -1.
class EvaluationLoader : public EvaluationSource {
 public:
  EvaluationLoader(const TokenShard& shard, std::int32_t end_of_text, std::int64_t context);

  bool next(HostBatch& batch) override;
  void restart() override { position_ = 0; }
  void limit(std::int64_t tokens) override { token_limit_ = tokens; }

 private:
  const TokenShard& shard_;
  std::int32_t end_of_text_;
  std::int64_t context_;
  std::int64_t position_ = 0;
  std::int64_t token_limit_ = 0;
  std::vector<std::int32_t> window_;
};

}  // namespace athanor
