// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/foreign_computer.h"

#include "engine/backend/plan/plan_backend.h"

namespace athanor {

ForeignComputer::State::State(const ForeignModel& foreign, Backend& backend, Arena& arena)
    : transformer(foreign.settings.model, backend, arena, foreign.settings.model.context,
                  backend.compute_type()),
      weights(transformer.parameters(), WeightFormat::as_saved, foreign.weights.type(), arena),
      token(arena.take(MemoryRole::batch, DType::i32, {1})),
      logits(arena.take(MemoryRole::logits, DType::f32, {foreign.settings.model.vocabulary})),
      cache(transformer.take_cache(foreign.settings.model.context, arena)) {}

void ForeignComputer::State::decode(std::int64_t position, Arena& arena) const {
  transformer.decode(token, position, weights.view(), cache, logits, arena);
}

std::int64_t ForeignComputer::planned_bytes(const ForeignModel& foreign,
                                            const BackendTraits& traits) {
  PlanBackend backend(traits);
  Arena arena;
  const State state(foreign, backend, arena);
  state.decode(0, arena);
  return arena.plan().peak_bytes;
}

ForeignComputer::ForeignComputer(const ForeignModel& foreign)
    : backend_(make_backend({.device = "cpu"})),
      arena_(backend_->allocate(planned_bytes(foreign, backend_->traits()))),
      state_(foreign, *backend_, arena_) {
  state_.weights.load(foreign.weights, *backend_);
}

std::span<const float> ForeignComputer::after(std::int32_t token) {
  backend_->upload(state_.token, std::as_bytes(std::span(&token, 1)));
  state_.decode(position_++, arena_);
  return state_.logits.span<const float>();
}

}  // namespace athanor
