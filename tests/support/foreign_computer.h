// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/backend/registry.h"
#include "engine/exchange/foreign_model.h"
#include "engine/model/loaded_weights.h"
#include "engine/model/transformer.h"

namespace athanor {

/// Runs another program's model on the processor, token by token. Borrows the model.
class ForeignComputer {
 public:
  explicit ForeignComputer(const ForeignModel& foreign);

  /// The logits [vocabulary] after one more token; valid until the next call.
  std::span<const float> after(std::int32_t token);

 private:
  struct State {
    State(const ForeignModel& foreign, Backend& backend, Arena& arena);
    void decode(std::int64_t position, Arena& arena) const;

    Transformer transformer;
    LoadedWeights weights;
    Tensor token;
    Tensor logits;
    Transformer::KeyValueCache cache;
  };
  static std::int64_t planned_bytes(const ForeignModel& foreign, const BackendTraits& traits);

  std::unique_ptr<Backend> backend_;
  Arena arena_;
  State state_;
  std::int64_t position_ = 0;
};

}  // namespace athanor
