// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/base/cancel_token.h"
#include "engine/data/batch_loader.h"
#include "engine/io/weight_source.h"
#include "engine/model/transformer.h"
#include "engine/tensor/arena.h"

namespace athanor {

/// Tokens of which some are to be predicted, each from all before it.
struct ScoredText {
  std::vector<std::int32_t> ids;    ///< at most context + 1
  std::size_t first_predicted = 1;  ///< the first that is; at least 1
  std::size_t end = 0;              ///< one past the last; 0: ids.size()
};

/// How probable a model finds texts. One thread at a time; its memory is taken once, here. Several
/// short texts share a row of a pass, and none sees another.
class Scorer {
 public:
  /// Copies the weights; throws damaged when they do not fit `model`.
  Scorer(const ModelConfig& model, const WeightSource& weights, Backend& backend);

  std::int64_t context() const { return model_.context; }
  std::int64_t allocated_bytes() const { return arena_.allocated_bytes(); }

  /// Nats that the predicted tokens of each text cost together: -ln of their probability. Throws
  /// invalid_argument for a text that is longer than the context and one token, non_finite when the
  /// model gives no number.
  std::vector<double> cost(std::span<const ScoredText> texts, const CancelToken& cancel);

 private:
  struct State {
    State(const ModelConfig& model, Backend& backend, Arena& arena, DType weight_type);
    Transformer transformer;
    Tensor weights;  ///< flat
    Transformer::Batch batch;
    Tensor losses;
  };
  /// Rows of a pass: so many that small models are kept busy.
  static std::int64_t rows_of(const ModelConfig& model);
  static std::int64_t planned_bytes(const ModelConfig& model, const BackendTraits& traits,
                                    DType weight_type);
  void run();

  ModelConfig model_;
  Backend& backend_;
  Arena arena_;
  State state_;
  HostBatch batch_;
  std::vector<std::int32_t> owners_;  ///< by place: the text it is of
  std::vector<std::byte> losses_;
};

}  // namespace athanor
