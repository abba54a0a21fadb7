// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/chat/chat_format.h"
#include "engine/data/tokenizer.h"

namespace athanor {

/// What of a conversation is trained.
enum class LossOn {
  answers,      ///< every answer, with what ends it
  last_answer,  ///< only the last
  everything,   ///< all of it
};
constexpr std::array<std::string_view, 3> names_of(LossOn) {
  return {"answers", "last_answer", "everything"};
}

/// A conversation as tokens.
struct EncodedChat {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> messages;  ///< by token: the message it belongs to, or -1
  std::vector<std::uint8_t> answers;   ///< by token: 1 where it is what the model is to write
};

/// A chat format with a model's tokenizer, which must outlive it: training, chat and every view of
/// either go through it, so that their token ids are the same. Markers become their tokens; what
/// they enclose is encoded as one text (as transformers' apply_chat_template does), in which
/// nothing is a special token.
class ChatTemplate {
 public:
  /// `begin_of_text`: the token that every text of the model begins with, -1 for none. Throws
  /// invalid_argument naming the markers that the tokenizer does not have.
  ChatTemplate(ChatStyle style, const Tokenizer& tokenizer, std::int32_t begin_of_text);

  const ChatStyle& style() const { return style_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::int32_t begin_of_text() const { return begin_of_text_; }
  /// The token that ends an answer.
  std::int32_t end_of_answer() const { return end_of_answer_; }

  /// With `answer_follows` up to where the next answer begins. Throws invalid_argument for roles
  /// out of order (check_conversation).
  EncodedChat encode(const Dialogue& conversation, bool answer_follows) const;

 private:
  std::int32_t token_of(const ChatPiece& piece) const;

  ChatStyle style_;
  const Tokenizer& tokenizer_;
  std::int32_t begin_of_text_;
  std::int32_t end_of_answer_;
};

/// By token: 1 where it is trained.
std::vector<std::uint8_t> trained_tokens(const EncodedChat& chat, const Dialogue& conversation,
                                         LossOn loss);

/// Throws invalid_argument saying what is wrong: no messages, roles out of order, a user's or an
/// assistant's message without text; unless `answer_follows` also a user's that is not answered.
void check_conversation(const Dialogue& conversation, bool answer_follows);

}  // namespace athanor
