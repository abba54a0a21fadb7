// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/setting_options.h"
#include "engine/cli/stop_signals.h"
#include "engine/session/chat_session.h"
#include "engine/session/model_exchange.h"
#include "engine/store/run_store.h"

namespace athanor {

namespace {

constexpr std::array kSettings = {
    SettingOption{"--temperature", "sampling", "temperature", "0: always the most probable token"},
    SettingOption{"--top-k", "sampling", "top_k", "Only the k most probable tokens; 0: all"},
    SettingOption{"--top-p", "sampling", "top_p", "Only the most probable that reach p together"},
    SettingOption{"--seed", "sampling", "seed", "The same seed gives the same answer"},
    SettingOption{"--length", "sampling", "max_tokens", "Tokens to write at most"},
    SettingOption{"--weights", "loading", "weights",
                  "as_saved, q8_0 (8 bits) or q4_0 (4 bits): fewer bits take less memory"},
};

/// How the model is loaded.
struct LoadingOptions {
  WeightFormat weights = WeightFormat::as_saved;
};

template <class Visitor>
void visit_fields(LoadingOptions& options, Visitor& visitor) {
  visitor("weights", options.weights);
}

struct ChatOptions {
  SettingOptions settings{kSettings};
  std::string run;
  std::string model;
  std::string checkpoint;
  std::string prompt;
  CLI::Option* run_given = nullptr;
  CLI::Option* model_given = nullptr;
  CLI::Option* checkpoint_given = nullptr;
  CLI::Option* prompt_given = nullptr;
  std::string system;
  std::string input;
  bool raw = false;
};

const char* end_name(Generation::End end) {
  switch (end) {
    case Generation::End::end_of_text:
      return "end_of_text";
    case Generation::End::length:
      return "length";
    case Generation::End::context_full:
      return "context_full";
    case Generation::End::cancelled:
      return "cancelled";
  }
  return "";
}

/// The run that was typed, or imported under the name that was; nothing when --model names a file.
std::optional<std::int64_t> chosen_run(const ChatOptions& options, const RunStore& store,
                                       const GlobalOptions& global) {
  if (options.model_given->count() == 0) {
    const std::int64_t run = whole_number("RUN", options.run, Bounds{1, 9e15});
    if (store.run(run)) return run;
    throw Error(ErrorKind::not_found,
                fmt::format("There is no run {}. See them with: {}", run, global.command("runs")));
  }
  std::error_code error;
  if (std::filesystem::exists(options.model, error)) return {};
  for (const RunRecord& record : store.runs()) {
    if (record.name == options.model && is_imported(record)) return record.id;
  }
  throw Error(ErrorKind::not_found,
              fmt::format("--model {}: there is no such file or folder, and no model of that name "
                          "was imported. See them with: {}",
                          single_line(options.model), global.command("runs")));
}

ChatSession open_session(const ChatOptions& options, const GlobalOptions& global) {
  const LoadingOptions loading = options.settings.applied(LoadingOptions{}, "loading");
  if ((options.model_given->count() > 0) == (options.run_given->count() > 0)) {
    throw Error(ErrorKind::invalid_argument,
                "Say whom to talk to: a run's number, or --model with a file, a folder or an "
                "imported model's name.");
  }
  std::optional<std::int64_t> step;
  if (options.checkpoint_given->count() > 0) {
    step = whole_number("--checkpoint", options.checkpoint, Bounds{0, 1e9});
  }
  const RunStore store(global.home_folder());
  if (!store.recovery_note().empty()) print_note(store.recovery_note().sentence());
  const std::optional<std::int64_t> run = chosen_run(options, store, global);
  const BackendOptions backend = global.backend();
  global.tell_unused_card();
  if (!run) return ChatSession(open_foreign_model(options.model, {}), backend, loading.weights);
  return ChatSession(store.run_folder(*run), step, backend, loading.weights);
}

/// Answers what is typed: a model with a chat template in a conversation that goes on, any other
/// each text on its own.
class Conversing {
 public:
  Conversing(ChatSession& session, const ChatOptions& options, const SamplingOptions& sampling,
             bool json)
      : session_(session),
        options_(options),
        sampling_(sampling),
        json_(json),
        chats_(session.chat_template() != nullptr && !options.raw) {
    if (!chats_ && (!options.system.empty() || !options.input.empty())) {
      throw Error(ErrorKind::invalid_argument,
                  "--system and --input are for models with a chat template; this one continues "
                  "text. Leave them out.");
    }
    begin();
  }

  void answer(const std::string& prompt, const CancelToken& cancel) {
    const auto show = [&](const std::string& piece) {
      if (!json_) print(piece);
    };
    const Generation made = chats_ ? turn(prompt, cancel, show)
                                   : session_.generator().generate(prompt, sampling_, cancel, show);
    if (json_) {
      print_json({{"event", "answer"},
                  {"step", session_.step()},
                  {"template", template_name()},
                  {"prompt", prompt},
                  {"text", made.text},
                  {"prompt_tokens", made.prompt_tokens},
                  {"dropped_prompt_tokens", made.dropped_prompt_tokens},
                  {"tokens", made.tokens},
                  {"tokens_per_second", made.tokens_per_second()},
                  {"memory_bytes", session_.generator().allocated_bytes()},
                  {"end", end_name(made.end)}});
      return;
    }
    print("\n");
    if (made.dropped_prompt_tokens > 0) {
      print_note(fmt::format("({} was too long: its first {} tokens were left out.)",
                             chats_ ? "The conversation" : "The prompt",
                             made.dropped_prompt_tokens));
    }
    print_note(fmt::format("({} tokens, {} tokens/s)", grouped(made.tokens),
                           grouped(std::llround(made.tokens_per_second()))));
  }

  void answer_lines(const CancelToken& cancel) {
    const bool ask = input_is_terminal() && !json_;
    if (ask && chats_) {
      print_note(
          fmt::format("Write a message and press Enter ({} template); /new begins another "
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

 private:
  void begin() {
    talk_.messages.clear();
    if (!options_.system.empty())
      talk_.messages.push_back({.role = Role::system, .text = options_.system});
  }

  Generation turn(const std::string& prompt, const CancelToken& cancel,
                  const Generator::TextCallback& show) {
    talk_.messages.push_back({.role = Role::user, .text = prompt, .input = options_.input});
    try {
      Generation made = session_.answer(talk_, sampling_, cancel, show);
      talk_.messages.push_back({.role = Role::assistant, .text = made.text});
      // What the model said nothing to cannot be part of what follows.
      if (made.text.empty()) talk_.messages.resize(talk_.messages.size() - 2);
      return made;
    } catch (const Error&) {
      talk_.messages.pop_back();
      throw;
    }
  }

  std::string template_name() const {
    const ChatFormat format = chats_ ? session_.chat_template()->style().format : ChatFormat::none;
    return std::string(names_of(format)[static_cast<std::size_t>(format)]);
  }

  ChatSession& session_;
  const ChatOptions& options_;
  SamplingOptions sampling_;
  bool json_;
  bool chats_;
  Conversation talk_;
};

int chat(const ChatOptions& options, const GlobalOptions& global) {
  const SamplingOptions sampling = options.settings.applied(SamplingOptions{}, "sampling");
  CancelToken cancel;
  std::atomic<bool> answering = options.prompt_given->count() > 0;
  const StopSignals signals([&] {
    // There is nothing to save, and a wait for the next line cannot be interrupted otherwise.
    if (!answering) std::_Exit(kStopped);
    cancel.request();
  });
  ChatSession session = open_session(options, global);
  for (const std::string& note : {session.notice(), session.weights_note()})
    if (!note.empty()) print_note(note);
  Conversing conversation(session, options, sampling, global.json);
  if (answering) {
    conversation.answer(options.prompt, cancel);
  } else {
    conversation.answer_lines(cancel);
  }
  return signals.seen() ? kStopped : kSuccess;
}

}  // namespace

void add_chat_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("chat", "Talk to a run's model, or let it continue a text");
  const auto options = std::make_shared<ChatOptions>();
  options->run_given =
      command->add_option("RUN", options->run, "The run's number; see runs")->type_name("N");
  options->model_given =
      command
          ->add_option("--model", options->model,
                       "Instead of a run: a GGUF file, a Hugging Face folder, or the name of a "
                       "model that was imported")
          ->type_name("PATH");
  options->checkpoint_given = command
                                  ->add_option("--checkpoint", options->checkpoint,
                                               "The step of a checkpoint; without it the newest")
                                  ->type_name("STEP");
  options->prompt_given = command->add_option(
      "--prompt", options->prompt,
      "The message, or the text to continue; without it each line of the input");
  command
      ->add_option("--system", options->system,
                   "What the system's message says, of a model with a chat template")
      ->type_name("TEXT");
  command
      ->add_option("--input", options->input,
                   "What the prompt is about; a part of its own in the alpaca template")
      ->type_name("TEXT");
  command->add_flag("--raw", options->raw,
                    "Continue the text, though the model has a chat template");
  options->settings.add_to(*command);
  command->callback([options, &global, &action] {
    action = [options, &global] { return chat(*options, global); };
  });
}

}  // namespace athanor
