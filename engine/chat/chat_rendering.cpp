// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"
#include "engine/chat/chat_format.h"

namespace athanor {

namespace {

using Kind = ChatPiece::Kind;

constexpr std::string_view kBlanks = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
constexpr std::string_view kAlpaca =
    "Below is an instruction that describes a task. Write a response that appropriately completes "
    "the request.";
constexpr std::string_view kAlpaca_with_input =
    "Below is an instruction that describes a task, paired with an input that provides further "
    "context. Write a response that appropriately completes the request.";
constexpr std::string_view kQwen =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";

std::string stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

/// A user's words in formats that have no place of its own for what they are about.
std::string with_input(const Message& message) {
  return message.input.empty() ? message.text : message.text + "\n" + message.input;
}

class Writer {
 public:
  Writer(const ChatStyle& style, const Dialogue& conversation)
      : format_(style.format), messages_(conversation.messages), system_(style.system) {
    if (system_.empty()) system_ = usual_system(format_);
    system_given_ = !messages_.empty() && messages_.front().role == Role::system;
    if (system_given_) system_ = messages_.front().text;
    has_system_ = system_given_ || !system_.empty();
  }

  std::vector<ChatPiece> write(bool answer_follows) {
    add(Kind::begin_of_text);
    switch (format_) {
      case ChatFormat::none:
        throw Error(ErrorKind::internal, "A conversation was to be written without a format.");
      case ChatFormat::plain:
        plain();
        break;
      case ChatFormat::alpaca:
        alpaca(answer_follows);
        break;
      case ChatFormat::llama2:
      case ChatFormat::mistral:
        instructions();
        break;
      case ChatFormat::chatml:
      case ChatFormat::qwen:
      case ChatFormat::llama3:
      case ChatFormat::gemma:
      case ChatFormat::zephyr:
        turns(answer_follows);
        break;
    }
    return std::move(pieces_);
  }

 private:
  void add(Kind kind, std::string text = {}, bool answer = false) {
    if (kind == Kind::text && text.empty()) return;
    pieces_.push_back({kind, std::move(text), message_, answer});
  }
  void text(std::string text) { add(Kind::text, std::move(text)); }
  void answer(std::string text) { add(Kind::text, std::move(text), true); }

  /// What is written next is the system's message.
  void begin_system() { message_ = system_given_ ? 0 : -1; }

  /// Calls write(message) for all but the system's.
  template <class Write>
  void for_turns(const Write& write) {
    for (std::size_t i = system_given_ ? 1 : 0; i < messages_.size(); ++i) {
      message_ = static_cast<int>(i);
      write(messages_[i]);
    }
    message_ = -1;
  }

  void plain() {
    begin_system();
    if (has_system_) text(system_ + "\n");
    for_turns([&](const Message& message) {
      if (message.role == Role::user) return text(with_input(message) + "\n");
      answer(message.text);
      add(Kind::end_of_text, {}, true);
    });
  }

  void alpaca(bool answer_follows) {
    begin_system();
    if (has_system_) text(system_ + "\n\n");
    bool first = true;
    for_turns([&](const Message& message) {
      if (message.role == Role::assistant) {
        text("### Response:\n");
        answer(message.text);
        return add(Kind::end_of_text, {}, true);
      }
      if (!first) text("\n\n");
      if (first && !has_system_)
        text(std::string(message.input.empty() ? kAlpaca : kAlpaca_with_input) + "\n\n");
      first = false;
      text("### Instruction:\n" + message.text + "\n\n");
      if (!message.input.empty()) text("### Input:\n" + message.input + "\n\n");
    });
    if (answer_follows) text("### Response:\n");
  }

  /// Llama 2's and Mistral's: an answer just follows what closes the instruction.
  void instructions() {
    const bool llama = format_ == ChatFormat::llama2;
    bool first = true;
    for_turns([&](const Message& message) {
      if (message.role == Role::assistant) {
        text(" ");
        answer(llama ? stripped(message.text) + " " : message.text);
        return add(Kind::end_of_text, {}, true);
      }
      std::string words = with_input(message);
      if (first && has_system_) {
        words = llama ? "<<SYS>>\n" + system_ + "\n<</SYS>>\n\n" + words : system_ + "\n\n" + words;
      }
      if (llama && !first) add(Kind::begin_of_text);
      first = false;
      if (!llama) text(" ");
      add(Kind::marker, "[INST]");
      text(fmt::format(" {} ", llama ? stripped(words) : words));
      add(Kind::marker, "[/INST]");
    });
  }

  void open_turn(Role role) {
    const std::string name(names_of(role)[static_cast<std::size_t>(role)]);
    switch (format_) {
      case ChatFormat::llama3:
        add(Kind::marker, "<|start_header_id|>");
        text(name);
        add(Kind::marker, "<|end_header_id|>");
        return text("\n\n");
      case ChatFormat::gemma:
        add(Kind::marker, "<start_of_turn>");
        return text(role == Role::assistant ? "model\n" : "user\n");
      case ChatFormat::zephyr:
        add(Kind::marker, "<|" + name + "|>");
        return text("\n");
      default:
        add(Kind::marker, "<|im_start|>");
        return text(name + "\n");
    }
  }

  void close_turn(bool is_answer) {
    const std::string marker = end_of_answer(format_);
    add(marker.empty() ? Kind::end_of_text : Kind::marker, marker, is_answer);
    if (format_ != ChatFormat::llama3) text("\n");
  }

  void turn(Role role, std::string words) {
    open_turn(role);
    add(Kind::text, std::move(words), role == Role::assistant);
    close_turn(role == Role::assistant);
  }

  void turns(bool answer_follows) {
    const bool strips = format_ == ChatFormat::llama3 || format_ == ChatFormat::gemma;
    const auto written = [&](std::string words) { return strips ? stripped(words) : words; };
    std::string before;
    begin_system();
    if (has_system_ && format_ == ChatFormat::gemma) {
      before = system_ + "\n\n";
    } else if (has_system_) {
      turn(Role::system, written(system_));
    }
    for_turns([&](const Message& message) {
      turn(message.role, std::exchange(before, {}) + written(with_input(message)));
    });
    if (answer_follows) open_turn(Role::assistant);
  }

  ChatFormat format_;
  const std::vector<Message>& messages_;
  std::string system_;
  bool system_given_ = false;  ///< by the conversation
  bool has_system_ = false;
  int message_ = -1;
  std::vector<ChatPiece> pieces_;
};

}  // namespace

std::vector<ChatPiece> render_chat(const ChatStyle& style, const Dialogue& conversation,
                                   bool answer_follows) {
  return Writer(style, conversation).write(answer_follows);
}

std::string_view usual_system(ChatFormat format) {
  return format == ChatFormat::qwen ? kQwen : std::string_view();
}

std::vector<std::string> needed_markers(ChatFormat format) {
  switch (format) {
    case ChatFormat::chatml:
    case ChatFormat::qwen:
      return {"<|im_start|>", "<|im_end|>"};
    case ChatFormat::llama3:
      return {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
    case ChatFormat::gemma:
      return {"<start_of_turn>", "<end_of_turn>"};
    default:
      return {};
  }
}

std::string end_of_answer(ChatFormat format) {
  const std::vector<std::string> markers = needed_markers(format);
  return markers.empty() ? std::string() : markers.back();
}

}  // namespace athanor
