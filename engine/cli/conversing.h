// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/session/chat_session.h"

namespace athanor {

struct ConversingOptions {
  SamplingOptions sampling;
  std::string system;  ///< what the system's message says; empty: there is none
  std::string input;   ///< Message::input of what is asked
  bool raw = false;    ///< text is continued though the model has a chat template
  bool json = false;
};

/// Answers what is typed: a model with a chat template in a conversation that goes on, any other
/// each text on its own.
class Conversing {
 public:
  /// Throws invalid_argument for a system or an input that the model has no use for.
  Conversing(ChatSession& session, ConversingOptions options);

  /// Answers and prints.
  void answer(const std::string& prompt, const CancelToken& cancel);
  /// Every line of the input.
  void answer_lines(const CancelToken& cancel);

 private:
  void begin();
  Generation turn(const std::string& prompt, const CancelToken& cancel,
                  const Generator::TextCallback& show);
  void print_event(const std::string& prompt, const Generation& made) const;
  std::string template_name() const;

  ChatSession& session_;
  ConversingOptions options_;
  bool chats_;
  Dialogue talk_;
};

}  // namespace athanor
