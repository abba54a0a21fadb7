// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/backend/plan/plan_backend.h"
#include "engine/base/error.h"
#include "engine/model/loaded_weights.h"

namespace athanor {

namespace {

constexpr std::int64_t kHead_chunk_tokens = 256;

DType type_for(const WeightSource& weights, const BackendTraits& traits) {
  if (traits.bf16_only) return DType::bf16;
  return weights.type() == DType::bf16 ? DType::bf16 : traits.compute_type;
}

DType activations_of(const BackendTraits& traits) {
  return traits.bf16_only ? DType::bf16 : traits.compute_type;
}

const ModelConfig& checked(const ModelConfig& model) {
  check_model_config(model);
  return model;
}

}  // namespace

Scorer::State::State(const ModelConfig& model, Backend& backend, Arena& arena, DType weight_type)
    : transformer(model, backend, arena, model.context, activations_of(backend.traits())),
      weights(arena.take(MemoryRole::weights, weight_type,
                         {transformer.parameters().flat_elements()}, {"weights"})) {
  const std::int64_t tokens = rows_of(model) * model.context;
  for (Tensor* tensor : {&batch.tokens, &batch.targets, &batch.document_starts})
    *tensor = arena.take(MemoryRole::batch, DType::i32, {tokens});
  losses = arena.take(MemoryRole::batch, backend.compute_type(), {tokens}, {"losses"});
}

std::int64_t Scorer::rows_of(const ModelConfig& model) {
  constexpr std::int64_t kTokens = 1024;
  return std::max<std::int64_t>(1, kTokens / model.context);
}

std::int64_t Scorer::planned_bytes(const ModelConfig& model, const BackendTraits& traits,
                                   DType weight_type) {
  PlanBackend backend(traits);
  Arena arena;
  const State state(model, backend, arena, weight_type);
  state.transformer.evaluate(state.batch, state.weights, state.losses, kHead_chunk_tokens, arena);
  return arena.plan().peak_bytes;
}

Scorer::Scorer(const ModelConfig& model, const WeightSource& weights, Backend& backend)
    : model_(checked(model)),
      backend_(backend),
      arena_(backend.allocate(
          planned_bytes(model, backend.traits(), type_for(weights, backend.traits())))),
      state_(model, backend, arena_, type_for(weights, backend.traits())),
      batch_(rows_of(model), model.context),
      owners_(batch_.tokens.size()),
      losses_(static_cast<std::size_t>(state_.losses.bytes())) {
  const ParameterTable& table = state_.transformer.parameters();
  for (int i = 0; i < static_cast<int>(table.all().size()); ++i)
    upload_numbers(weights, i, table.view(state_.weights, i), backend_);
}

void Scorer::run() {
  const auto send = [&](const Tensor& to, const std::vector<std::int32_t>& from) {
    backend_.upload(to, std::as_bytes(std::span(from)));
  };
  send(state_.batch.tokens, batch_.tokens);
  send(state_.batch.targets, batch_.targets);
  send(state_.batch.document_starts, batch_.document_starts);
  state_.transformer.evaluate(state_.batch, state_.weights, state_.losses, kHead_chunk_tokens,
                              arena_);
  backend_.download(losses_, state_.losses);
}

std::vector<double> Scorer::cost(std::span<const ScoredText> texts, const CancelToken& cancel) {
  std::vector<double> costs(texts.size());
  const auto context = static_cast<std::size_t>(model_.context);
  std::size_t at = 0;
  const auto put = [&](std::int32_t token, std::int32_t target, std::size_t start,
                       std::int32_t owner) {
    batch_.tokens[at] = token;
    batch_.targets[at] = target;
    batch_.document_starts[at] = static_cast<std::int32_t>(start % context);
    owners_[at++] = owner;
  };
  const auto pad_to = [&](std::size_t end) {
    while (at < end)
      put(0, -1, at, -1);
  };
  const auto finish = [&] {
    cancel.throw_if_requested();
    pad_to(batch_.tokens.size());
    run();
    const Tensor host{losses_.data(), state_.losses.dtype, state_.losses.shape};
    for (std::size_t i = 0; i < at; ++i) {
      if (batch_.targets[i] < 0) continue;
      const double loss = host.dtype == DType::f64 ? host.span<double>()[i] : host.span<float>()[i];
      if (!std::isfinite(loss)) {
        throw Error(ErrorKind::non_finite,
                    "The model gives no number for this text: its weights are useless. Choose an "
                    "earlier checkpoint.");
      }
      costs[static_cast<std::size_t>(owners_[i])] += loss;
    }
    at = 0;
  };
  for (std::size_t text = 0; text < texts.size(); ++text) {
    const ScoredText& scored = texts[text];
    const std::size_t places = scored.ids.size() - 1;
    if (scored.ids.empty() || places > context) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("A text has {} tokens, but the model sees {} at once. Shorten it.",
                              scored.ids.size(), context));
    }
    if (at % context + places > context) pad_to((at / context + 1) * context);
    if (at + places > batch_.tokens.size()) finish();
    const std::size_t start = at;
    const std::size_t end = scored.end == 0 ? scored.ids.size() : scored.end;
    for (std::size_t i = 0; i < places; ++i) {
      const bool predicted = i + 1 >= scored.first_predicted && i + 1 < end;
      put(scored.ids[i], predicted ? scored.ids[i + 1] : -1, start,
          static_cast<std::int32_t>(text));
    }
  }
  if (at > 0) finish();
  return costs;
}

}  // namespace athanor
