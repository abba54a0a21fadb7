// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/backend/plan/plan_backend.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace athanor {

namespace {

/// As stored in the file, unless the backend can do with bf16 only.
DType type_for(const WeightSource& weights, const BackendTraits& traits) {
  return traits.bf16_only ? DType::bf16 : weights.type();
}

DType activations_of(const BackendTraits& traits) {
  return traits.bf16_only ? DType::bf16 : traits.compute_type;
}

const ModelConfig& checked(const ModelConfig& model, const Tokenizer& tokenizer) {
  check_model_config(model);
  if (tokenizer.vocabulary_size() > model.vocabulary) {
    throw Error(
        ErrorKind::damaged,
        fmt::format("This tokenizer has {} tokens, but the model knows {}. Use the tokenizer "
                    "that the model was trained with.",
                    tokenizer.vocabulary_size(), model.vocabulary));
  }
  return model;
}

}  // namespace

Generator::State::State(const ModelConfig& model, Backend& backend, Arena& arena, DType weight_type,
                        WeightFormat format)
    : transformer(model, backend, arena, model.context, activations_of(backend.traits())),
      weights(transformer.parameters(), format, weight_type, arena),
      tokens(arena.take(MemoryRole::batch, DType::i32, {model.context})),
      logits(arena.take(MemoryRole::logits, backend.compute_type(), {model.vocabulary})),
      cache(transformer.take_cache(model.context, arena)) {}

std::int64_t Generator::planned_bytes(const ModelConfig& model, const BackendTraits& traits,
                                      DType weight_type, WeightFormat format) {
  PlanBackend backend(traits);
  Arena arena;
  const State state(model, backend, arena, weight_type, format);
  state.transformer.decode(state.tokens, 0, state.weights.view(), state.cache, state.logits, arena);
  return arena.plan().peak_bytes;
}

Generator::Generator(const ModelConfig& model, const SafetensorsFile& weights,
                     const Tokenizer& tokenizer, Backend& backend, WeightFormat format)
    : Generator(model, CheckpointWeights(weights, ParameterTable(checked(model, tokenizer)).all()),
                tokenizer, backend, format) {}

Generator::Generator(const ModelConfig& model, const WeightSource& weights,
                     const Tokenizer& tokenizer, Backend& backend, WeightFormat format)
    : model_(checked(model, tokenizer)),
      tokenizer_(tokenizer),
      backend_(backend),
      first_token_(tokenizer.end_of_text()),
      arena_(backend.allocate(
          planned_bytes(model, backend.traits(), type_for(weights, backend.traits()), format))),
      state_(model, backend, arena_, type_for(weights, backend.traits()), format),
      logits_(static_cast<std::size_t>(model.vocabulary)) {
  if (!backend.supports(Operation::decode_attention, model.head_dim())) {
    throw Error(ErrorKind::unsupported,
                fmt::format("There are no kernels for heads of {} elements on {}. Choose the "
                            "processor instead of the card.",
                            model.head_dim(), backend.device().name));
  }
  state_.weights.load(weights, backend_);
}

void Generator::run(std::span<const std::int32_t> ids, std::int64_t first_position) {
  const Tensor tokens = state_.tokens.slice_rows(0, static_cast<std::int64_t>(ids.size()));
  backend_.upload(tokens, std::as_bytes(ids));
  state_.transformer.decode(tokens, first_position, state_.weights.view(), state_.cache,
                            state_.logits, arena_);
  backend_.download(std::as_writable_bytes(std::span(logits_)), state_.logits);
}

std::span<const float> Generator::known_logits() {
  for (const std::int32_t id : tokenizer_.unused_ids())
    logits_[static_cast<std::size_t>(id)] = std::numeric_limits<float>::lowest();
  return std::span(logits_).first(static_cast<std::size_t>(tokenizer_.vocabulary_size()));
}

Generation Generator::generate(const std::string& prompt, const SamplingOptions& options,
                               const CancelToken& cancel, const TextCallback& on_text) {
  Generation result;
  std::vector<std::int32_t> ids;
  if (first_token_ >= 0) ids.push_back(first_token_);
  tokenizer_.encode(prompt, ids);
  if (ids.empty()) ids.push_back(tokenizer_.end_of_text());
  const auto context = static_cast<std::size_t>(model_.context);
  if (ids.size() >= context) {
    result.dropped_prompt_tokens = static_cast<std::int64_t>(ids.size() - context / 2);
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(context / 2));
  }
  return write(std::move(ids), std::move(result), options, cancel, on_text);
}

Generation Generator::continue_tokens(std::vector<std::int32_t> ids, const SamplingOptions& options,
                                      const CancelToken& cancel, const TextCallback& on_text) {
  if (ids.empty() || std::ssize(ids) >= model_.context) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("There are {} tokens to go on from, but the model sees {} at once. "
                            "Write less.",
                            ids.size(), model_.context));
  }
  return write(std::move(ids), {}, options, cancel, on_text);
}

Generation Generator::write(std::vector<std::int32_t> ids, Generation result,
                            const SamplingOptions& options, const CancelToken& cancel,
                            const TextCallback& on_text) {
  check_settings(options, "");
  const Stopwatch watch;
  result.prompt_tokens = static_cast<std::int64_t>(ids.size());

  Sampler sampler(options);
  Utf8Stream stream;
  const auto give = [&](const std::string& piece) {
    if (piece.empty()) return;
    result.text += piece;
    on_text(piece);
  };
  std::int64_t position = 0;
  for (;;) {
    run(ids, position);
    position += static_cast<std::int64_t>(ids.size());
    const std::int32_t next = sampler.sample(known_logits(), result.tokens);
    if (result.tokens == 0) result.prompt_seconds = watch.seconds();
    if (next == tokenizer_.end_of_text() || next == last_token_) {
      result.end = Generation::End::end_of_text;
      break;
    }
    ++result.tokens;
    give(stream.push(tokenizer_.token_bytes(next)));
    if (cancel.requested()) {
      result.end = Generation::End::cancelled;
      break;
    }
    if (result.tokens >= options.max_tokens) break;
    if (position >= model_.context) {
      result.end = Generation::End::context_full;
      break;
    }
    ids.assign(1, next);
  }
  give(stream.finish());
  result.seconds = watch.seconds();
  return result;
}

}  // namespace athanor
