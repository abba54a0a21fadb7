// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "engine/backend/registry.h"
#include "engine/chat/chat_template.h"
#include "engine/exchange/foreign_model.h"
#include "engine/infer/generator.h"

namespace athanor {

/// A run's checkpoint, or another program's model, loaded for talking to.
class ChatSession {
 public:
  /// The checkpoint of `step`, or the newest good one. Throws not_found or damaged with a sentence;
  /// a damaged checkpoint of a given step is an error, damaged newer ones are told by notice().
  ChatSession(const std::filesystem::path& run_folder, std::optional<std::int64_t> step,
              const BackendOptions& options = {}, WeightFormat weights = WeightFormat::as_saved);
  /// Without importing it. Its step is 0.
  explicit ChatSession(ForeignModel foreign, const BackendOptions& options = {},
                       WeightFormat weights = WeightFormat::as_saved);

  std::int64_t step() const { return step_; }
  const ModelConfig& model() const { return model_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  /// Of damaged checkpoints, or of a chat template that cannot be honoured; mostly empty.
  const std::string& notice() const { return notice_; }
  /// A sentence about weights that are not kept as was asked; mostly empty.
  std::string weights_note() const;
  Generator& generator() { return *generator_; }

  /// How the model was taught to answer; null: it continues text.
  const ChatTemplate* chat_template() const { return template_ ? &*template_ : nullptr; }

  /// Answers the last message of a conversation. What does not fit the context is left out turn by
  /// turn from its start, but for the system's message, and counted as dropped_prompt_tokens.
  /// Throws invalid_argument without a chat template, for roles out of order and for a last message
  /// that leaves no room.
  Generation answer(Dialogue conversation, const SamplingOptions& options,
                    const CancelToken& cancel, const Generator::TextCallback& on_text);

 private:
  void take_template(const ModelCard& card);

  ModelConfig model_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Generator> generator_;
  std::optional<ChatTemplate> template_;
  std::int64_t step_ = 0;
  std::string notice_;
};

}  // namespace athanor
