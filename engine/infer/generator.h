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
  enum class End { end_of_text, length, context_full, cancelled };

  std::string text;  ///< whole UTF-8
  std::int64_t prompt_tokens = 0;
  std::int64_t dropped_prompt_tokens = 0;  ///< cut from the prompt's start to fit the context
  std::int64_t tokens = 0;
  double prompt_seconds = 0;  ///< to the first token
  double seconds = 0;         ///< in all
  End end = End::length;

  double tokens_per_second() const {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
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
  Generation generate(const std::string& prompt, const SamplingOptions& options,
                      const CancelToken& cancel, const TextCallback& on_text);

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
  void run(std::span<const std::int32_t> ids, std::int64_t first_position);
  /// The logits of what may be sampled.
  std::span<const float> known_logits();

  ModelConfig model_;
  const Tokenizer& tokenizer_;
  Backend& backend_;
  std::int32_t first_token_;
  Arena arena_;
  State state_;
  std::vector<float> logits_;
};

}  // namespace athanor
