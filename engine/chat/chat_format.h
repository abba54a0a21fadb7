// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/dialogue.h"

namespace athanor {

/// How a conversation is written down for a model.
enum class ChatFormat {
  none,     ///< the model continues text
  plain,    ///< a line, then the answer
  alpaca,   ///< Taori et al. 2023: "### Instruction:", "### Input:", "### Response:"
  chatml,   ///< OpenAI's <|im_start|> and <|im_end|>
  llama2,   ///< Touvron et al. 2023: [INST], <<SYS>>
  llama3,   ///< <|start_header_id|>, <|eot_id|>
  mistral,  ///< Mistral 7B Instruct 0.2: [INST] without <<SYS>>
  qwen,     ///< Qwen 2.5: ChatML that never is without a system's message
  gemma,    ///< Gemma 3: <start_of_turn>; the system's message begins the user's
  zephyr,   ///< Tunstall et al. 2023: <|user|>, the end of text after each message
};
constexpr std::array<std::string_view, 10> names_of(ChatFormat) {
  return {"none",   "plain",   "alpaca", "chatml", "llama2",
          "llama3", "mistral", "qwen",   "gemma",  "zephyr"};
}

/// A format with what stands for the system's message where a conversation has none.
struct ChatStyle {
  ChatFormat format = ChatFormat::none;
  std::string system;  ///< empty: the format's own (alpaca's preamble, Qwen's), or none
};

/// A stretch of what a conversation is written as.
struct ChatPiece {
  enum class Kind {
    text,           ///< as it stands: nothing in it controls the model
    marker,         ///< one of the format's: a token where the tokenizer has it, else text
    begin_of_text,  ///< the model's own token for it, where it has one
    end_of_text     ///< the model's own token for it
  };
  Kind kind = Kind::text;
  std::string text;     ///< of text and markers
  int message = -1;     ///< that it belongs to; -1: to none, such as a system's message not given
  bool answer = false;  ///< what the model is to write: an answer and what ends it
};

/// Writes a conversation down. With `answer_follows` it ends where the assistant's next message
/// begins. What stands for itself in the messages, blanks at their ends too, is kept, except where
/// the format strips it (llama2, llama3, gemma).
std::vector<ChatPiece> render_chat(const ChatStyle& style, const Dialogue& conversation,
                                   bool answer_follows);

/// What the format itself says as the system where nothing else does; mostly empty.
std::string_view usual_system(ChatFormat format);
/// Markers without which a format cannot be used: they must be tokens.
std::vector<std::string> needed_markers(ChatFormat format);
/// The marker that ends an answer; empty: the end of text does.
std::string end_of_answer(ChatFormat format);

/// The style as a Jinja template of Hugging Face's transformers
/// (https://huggingface.co/docs/transformers/chat_templating), which gives the same text.
std::string jinja_of(const ChatStyle& style, bool begins_with_token);

struct DetectedStyle {
  ChatStyle style;
  bool begins_with_token = false;  ///< the template writes bos_token itself
};
/// What a model's Jinja template does, when it is one that is known to the letter, its system's
/// message apart; nothing for any other, however similar.
std::optional<DetectedStyle> detect_style(std::string_view jinja);

}  // namespace athanor
