// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/base/cancel_token.h"
#include "engine/data/tokenizer.h"
#include "engine/infer/sampler.h"
#include "engine/io/weight_source.h"
#include "engine/model/loaded_weights.h"
#include "engine/model/transformer.h"

namespace athanor {

/// Holds back the bytes of a character that is not complete yet, so that what it gives is always
/// whole UTF-8; bytes that can never become a character give U+FFFD.
class Utf8Stream {
 public:
  std::string push(std::string_view bytes);
  /// What is left at the end, replaced by U+FFFD where it is incomplete.
  std::string finish();

 private:
  std::string pending_;
};

struct Generation {
  enum class End { end_of_text, stop_text, length, context_full, cancelled };

  std::string text;  ///< whole UTF-8
  std::int64_t prompt_tokens = 0;
  std::int64_t reused_prompt_tokens = 0;   ///< of these, known from the last call
  std::int64_t dropped_prompt_tokens = 0;  ///< cut from the prompt's start to fit the context
  std::int64_t slid_tokens = 0;            ///< dropped later, to make room (WhenFull::slide)
  std::int64_t tokens = 0;
  double prompt_seconds = 0;  ///< to the first token
  double seconds = 0;         ///< in all
  End end = End::length;
  std::vector<TokenChoice> choices;  ///< one for each token, with SamplingOptions::alternatives

  /// While writing, the first token aside; 0 when there is no second.
  double tokens_per_second() const {
    const double writing = seconds - prompt_seconds;
    return tokens > 1 && writing > 0 ? static_cast<double>(tokens - 1) / writing : 0;
  }
  double prompt_tokens_per_second() const {
    const auto read = static_cast<double>(prompt_tokens - reused_prompt_tokens);
    return prompt_seconds > 0 ? read / prompt_seconds : 0;
  }
};

/// A model ready to continue text. One thread at a time; the memory it needs is taken once, here.
class Generator {
 public:
  /// Copies the weights, as saved or quantised; throws damaged when they do not fit `model` or
  /// cannot be quantised, or `tokenizer` has more ids than the model's vocabulary. Ids that the
  /// tokenizer has no token for are never sampled. `tokenizer` must outlive it.
  Generator(const ModelConfig& model, const WeightSource& weights, const Tokenizer& tokenizer,
            Backend& backend, WeightFormat format = WeightFormat::as_saved);
  /// The weights of a checkpoint.
  Generator(const ModelConfig& model, const SafetensorsFile& weights, const Tokenizer& tokenizer,
            Backend& backend, WeightFormat format = WeightFormat::as_saved);

  /// Called with each piece of whole text as it comes.
  using TextCallback = std::function<void(const std::string& piece)>;

  /// Continues `prompt`. The same prompt, options and model give the same tokens. A prompt that
  /// leaves no room is cut at its start to half the context. An empty prompt starts a new document.
  /// What a prompt has in common with the text before it is not read again.
  Generation generate(const std::string& prompt, const SamplingOptions& options,
                      const CancelToken& cancel, const TextCallback& on_text);
  /// The same for a prompt's tokens, none of them added.
  Generation generate(std::vector<std::int32_t> prompt, const SamplingOptions& options,
                      const CancelToken& cancel, const TextCallback& on_text);

  /// What generate() makes of a prompt: never empty.
  std::vector<std::int32_t> prompt_tokens(const std::string& prompt) const;

  /// Reads so many tokens and writes so many, whatever they are; together at most the context.
  /// Nothing is reused.
  Generation measure_speed(std::int64_t prompt_tokens, std::int64_t tokens,
                           const CancelToken& cancel);

  /// What every text begins with, -1 for nothing; unless this is called, the tokenizer's end of
  /// text: in training here a document follows one. An empty prompt begins with that in any case.
  void begin_with(std::int32_t token) { first_token_ = token; }

  std::int64_t allocated_bytes() const { return arena_.allocated_bytes(); }
  /// See LoadedWeights.
  int unquantised() const { return state_.weights.unquantised(); }

 private:
  struct State {
    State(const ModelConfig& model, Backend& backend, Arena& arena, DType weight_type,
          WeightFormat format);
    Transformer transformer;
    LoadedWeights weights;
    Tensor tokens;  ///< i32 [context]
    Tensor logits;  ///< [V]
    Transformer::KeyValueCache cache;
  };

  static std::int64_t planned_bytes(const ModelConfig& model, const BackendTraits& traits,
                                    DType weight_type, WeightFormat format);
  /// Reads ids that follow those already known.
  void run(std::span<const std::int32_t> ids);
  /// Reads a prompt from where it differs from what is known; gives how many tokens it kept.
  std::int64_t begin(std::span<const std::int32_t> ids);
  /// The newest `count` tokens, after what every text begins with.
  void keep_newest(std::vector<std::int32_t>& ids, std::size_t count) const;
  /// Makes room by reading the newer half of the text again; gives how many tokens are gone.
  std::int64_t slide(std::int32_t next);
  /// The logits of what may be sampled.
  std::span<const float> known_logits();

  ModelConfig model_;
  const Tokenizer& tokenizer_;
  Backend& backend_;
  std::int32_t first_token_;
  Arena arena_;
  State state_;
  std::vector<float> logits_;
  std::vector<std::int32_t> known_;  ///< the tokens whose keys and values are in the cache
};

}  // namespace athanor
