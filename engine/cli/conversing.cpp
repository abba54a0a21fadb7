// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/cli/conversing.h"

#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "engine/cli/output.h"

namespace athanor {

namespace {

const char* end_name(Generation::End end) {
  switch (end) {
    case Generation::End::end_of_text:
      return "end_of_text";
    case Generation::End::stop_text:
      return "stop_text";
    case Generation::End::length:
      return "length";
    case Generation::End::context_full:
      return "context_full";
    case Generation::End::cancelled:
      return "cancelled";
  }
  return "";
}

Json choices_json(const std::vector<TokenChoice>& choices, const Tokenizer& tokenizer) {
  const auto described = [&](std::int32_t id, float probability) {
    return Json{
        {"id", id}, {"text", std::string(tokenizer.token_bytes(id))}, {"probability", probability}};
  };
  Json all = Json::array();
  for (const TokenChoice& choice : choices) {
    Json one = described(choice.id, choice.probability);
    for (const TokenChoice::Other& other : choice.best)
      one["best"].push_back(described(other.id, other.probability));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Conversing::Conversing(ChatSession& session, ConversingOptions options)
    : session_(session),
      options_(std::move(options)),
      chats_(session.chat_template() != nullptr && !options_.raw) {
  if (!chats_ && (!options_.system.empty() || !options_.input.empty())) {
    throw Error(ErrorKind::invalid_argument,
                "--system and --input are for models with a chat template; this one continues "
                "text. Leave them out.");
  }
  begin();
}

void Conversing::begin() {
  talk_.messages.clear();
  if (!options_.system.empty())
    talk_.messages.push_back({.role = Role::system, .text = options_.system});
}

Generation Conversing::turn(const std::string& prompt, const CancelToken& cancel,
                            const Generator::TextCallback& show) {
  talk_.messages.push_back({.role = Role::user, .text = prompt, .input = options_.input});
  try {
    Generation made = session_.answer(talk_, options_.sampling, cancel, show);
    talk_.messages.push_back({.role = Role::assistant, .text = made.text});
    // A message that nothing answers cannot be part of what follows.
    if (made.text.empty()) talk_.messages.resize(talk_.messages.size() - 2);
    return made;
  } catch (...) {
    talk_.messages.pop_back();
    throw;
  }
}

std::string Conversing::template_name() const {
  const ChatFormat format = chats_ ? session_.chat_template()->style().format : ChatFormat::none;
  return std::string(names_of(format)[static_cast<std::size_t>(format)]);
}

void Conversing::print_event(const std::string& prompt, const Generation& made) const {
  Json event = {{"event", "answer"},
                {"step", session_.step()},
                {"template", template_name()},
                {"prompt", prompt},
                {"text", made.text},
                {"prompt_tokens", made.prompt_tokens},
                {"dropped_prompt_tokens", made.dropped_prompt_tokens},
                {"tokens", made.tokens},
                {"tokens_per_second", made.tokens_per_second()},
                {"memory_bytes", session_.generator().allocated_bytes()},
                {"end", end_name(made.end)}};
  if (options_.sampling.alternatives > 0)
    event["choices"] = choices_json(made.choices, session_.tokenizer());
  print_json(event);
}

void Conversing::answer(const std::string& prompt, const CancelToken& cancel) {
  const auto show = [&](const std::string& piece) {
    if (!options_.json) print(piece);
  };
  const Generation made =
      chats_ ? turn(prompt, cancel, show)
             : session_.generator().generate(prompt, options_.sampling, cancel, show);
  if (options_.json) return print_event(prompt, made);
  print("\n");
  if (made.dropped_prompt_tokens > 0) {
    print_note(fmt::format("({} was too long: its first {} tokens were left out.)",
                           chats_ ? "The conversation" : "The prompt", made.dropped_prompt_tokens));
  }
  print_note(fmt::format("({} tokens, {} tokens/s)", grouped(made.tokens),
                         grouped(std::llround(made.tokens_per_second()))));
}

void Conversing::answer_lines(const CancelToken& cancel) {
  const bool ask = input_is_terminal() && !options_.json;
  if (ask && chats_) {
    print_note(
        fmt::format("Write a message and press Enter (template: {}); /new begins another "
                    "conversation, Ctrl+D ends.",
                    template_name()));
  } else if (ask) {
    print_note("Write how a text begins and press Enter; Ctrl+D ends.");
  }
  std::string line;
  while (!cancel.requested()) {
    if (ask) print("> ");
    if (!std::getline(std::cin, line)) break;
    if (chats_ && line == "/new") {
      begin();
    } else if (!line.empty()) {
      answer(line, cancel);
    }
  }
  if (ask) print("\n");
}

}  // namespace athanor
