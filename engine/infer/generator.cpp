// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/infer/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/backend/plan/plan_backend.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/infer/stop_text.h"

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

void Generator::run(std::span<const std::int32_t> ids) {
  const Tensor tokens = state_.tokens.slice_rows(0, static_cast<std::int64_t>(ids.size()));
  backend_.upload(tokens, std::as_bytes(ids));
  state_.transformer.decode(tokens, static_cast<std::int64_t>(known_.size()), state_.weights.view(),
                            state_.cache, state_.logits, arena_);
  backend_.download(std::as_writable_bytes(std::span(logits_)), state_.logits);
  known_.insert(known_.end(), ids.begin(), ids.end());
}

std::int64_t Generator::begin(std::span<const std::int32_t> ids) {
  // The last one is always read: its logits are wanted.
  const auto most = std::min(known_.size(), ids.size() - 1);
  std::size_t common = 0;
  while (common < most && known_[common] == ids[common])
    ++common;
  known_.resize(common);
  run(ids.subspan(common));
  return static_cast<std::int64_t>(common);
}

void Generator::keep_newest(std::vector<std::int32_t>& ids, std::size_t count) const {
  const bool begins = ids.front() == first_token_;
  ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(count));
  if (begins) ids.front() = first_token_;
}

std::int64_t Generator::slide(std::int32_t next) {
  std::vector<std::int32_t> ids = std::exchange(known_, {});
  ids.push_back(next);
  const std::size_t before = ids.size();
  keep_newest(ids, std::max<std::size_t>(before / 2, 1));
  known_.clear();
  run(ids);
  return static_cast<std::int64_t>(before - ids.size());
}

std::span<const float> Generator::known_logits() {
  for (const std::int32_t id : tokenizer_.unused_ids())
    logits_[static_cast<std::size_t>(id)] = std::numeric_limits<float>::lowest();
  return std::span(logits_).first(static_cast<std::size_t>(tokenizer_.vocabulary_size()));
}

std::vector<std::int32_t> Generator::prompt_tokens(const std::string& prompt) const {
  std::vector<std::int32_t> ids;
  if (first_token_ >= 0) ids.push_back(first_token_);
  tokenizer_.encode(prompt, ids);
  if (ids.empty()) ids.push_back(tokenizer_.end_of_text());
  return ids;
}

Generation Generator::generate(const std::string& prompt, const SamplingOptions& options,
                               const CancelToken& cancel, const TextCallback& on_text) {
  return generate(prompt_tokens(prompt), options, cancel, on_text);
}

namespace {

bool ends_answer(const Tokenizer& tokenizer, const SamplingOptions& options, std::int32_t id) {
  return id == tokenizer.end_of_text() ||
         std::find(options.stop_tokens.begin(), options.stop_tokens.end(), id) !=
             options.stop_tokens.end();
}

/// The text of an answer as it comes, up to a text that ends it.
class AnswerText {
 public:
  AnswerText(const SamplingOptions& options, std::string& text,
             const Generator::TextCallback& on_text)
      : stops_(options.stop), text_(text), on_text_(on_text) {}

  void push(std::string_view bytes) { give(stops_.push(characters_.push(bytes))); }
  void finish() {
    give(stops_.push(characters_.finish()));
    give(stops_.finish());
  }
  bool stopped() const { return stops_.found(); }

 private:
  void give(const std::string& piece) {
    if (piece.empty()) return;
    text_ += piece;
    on_text_(piece);
  }

  Utf8Stream characters_;
  StopText stops_;
  std::string& text_;
  const Generator::TextCallback& on_text_;
};

}  // namespace

Generation Generator::generate(std::vector<std::int32_t> prompt, const SamplingOptions& options,
                               const CancelToken& cancel, const TextCallback& on_text) {
  check_settings(options, "");
  if (prompt.empty()) throw Error(ErrorKind::invalid_argument, "A prompt has at least one token.");
  const Stopwatch watch;
  Generation result;
  AnswerText text(options, result.text, on_text);
  const auto context = static_cast<std::size_t>(model_.context);
  if (prompt.size() >= context) {
    result.dropped_prompt_tokens = static_cast<std::int64_t>(prompt.size() - context / 2);
    keep_newest(prompt, context / 2);
  }
  result.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  Sampler sampler(options);
  sampler.begin_after(prompt);
  result.reused_prompt_tokens = begin(prompt);
  for (;;) {
    const std::span<const float> logits = known_logits();
    const std::int32_t next = sampler.sample(logits, result.tokens);
    if (result.tokens == 0) result.prompt_seconds = watch.seconds();
    if (ends_answer(tokenizer_, options, next)) {
      result.end = Generation::End::end_of_text;
      break;
    }
    if (options.alternatives > 0)
      result.choices.push_back(describe_choice(logits, next, options.alternatives));
    ++result.tokens;
    text.push(tokenizer_.token_bytes(next));
    if (text.stopped()) {
      result.end = Generation::End::stop_text;
      break;
    }
    if (cancel.requested()) {
      result.end = Generation::End::cancelled;
      break;
    }
    if (result.tokens >= options.max_tokens) break;
    if (known_.size() < context) {
      run(std::span(&next, 1));
    } else if (options.when_full == WhenFull::slide) {
      result.slid_tokens += slide(next);
    } else {
      result.end = Generation::End::context_full;
      break;
    }
  }
  text.finish();
  result.seconds = watch.seconds();
  return result;
}

Generation Generator::measure_speed(std::int64_t prompt_tokens, std::int64_t tokens,
                                    const CancelToken& cancel) {
  if (prompt_tokens < 1 || tokens < 1 || prompt_tokens + tokens > model_.context + 1) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("A prompt of {} tokens and an answer of {} do not fit this model, which "
                    "sees {} at once.",
                    prompt_tokens, tokens, model_.context));
  }
  known_.clear();
  std::vector<std::int32_t> ids(static_cast<std::size_t>(prompt_tokens));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(tokenizer_.vocabulary_size()));
  const Stopwatch watch;
  Generation result;
  result.prompt_tokens = prompt_tokens;
  Sampler sampler({.temperature = 0});
  run(ids);
  while (!cancel.requested()) {
    const std::int32_t next = sampler.sample(known_logits(), result.tokens);
    if (result.tokens == 0) result.prompt_seconds = watch.seconds();
    if (++result.tokens == tokens) break;
    run(std::span(&next, 1));
  }
  if (result.tokens < tokens) result.end = Generation::End::cancelled;
  result.seconds = watch.seconds();
  known_.clear();
  return result;
}

}  // namespace athanor
