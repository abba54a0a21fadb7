// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cli/commands.h"
#include "engine/cli/conversing.h"
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
    SettingOption{"--min-p", "sampling", "min_p",
                  "Only tokens of at least p times the most probable's probability"},
    SettingOption{"--typical-p", "sampling", "typical_p",
                  "Only the most typical that reach p together; 1: all"},
    SettingOption{"--repetition-penalty", "sampling", "repetition_penalty",
                  "Above 1: what the text has becomes less probable"},
    SettingOption{"--presence-penalty", "sampling", "presence_penalty",
                  "Taken from the logits of what the answer has"},
    SettingOption{"--frequency-penalty", "sampling", "frequency_penalty",
                  "The same, as often as the answer has it"},
    SettingOption{"--when-full", "sampling", "when_full",
                  "stop, or slide: go on with the newer half of the text"},
    SettingOption{"--alternatives", "sampling", "alternatives",
                  "With --json: each token's probability and so many of the most probable"},
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
  std::string system;
  std::string input;
  bool raw = false;
  std::vector<std::string> stops;
  std::vector<std::string> biases;
  std::vector<std::int64_t> speed_test;
  CLI::Option* run_given = nullptr;
  CLI::Option* model_given = nullptr;
  CLI::Option* checkpoint_given = nullptr;
  CLI::Option* prompt_given = nullptr;
};

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

/// "ID=BIAS".
LogitBias logit_bias(const std::string& typed) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos) {
    throw Error(ErrorKind::invalid_argument,
                "--logit-bias " + single_line(typed) + ": write a token's number, = and a number.");
  }
  const Json bias = value_as_typed(typed.substr(equals + 1));
  if (!bias.is_number() || std::abs(bias.get<double>()) > kMostBias) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--logit-bias {}: the bias is a number from -{} to {}.",
                            single_line(typed), kMostBias, kMostBias));
  }
  const Bounds ids{0, std::numeric_limits<std::int32_t>::max()};
  return {static_cast<std::int32_t>(whole_number("--logit-bias", typed.substr(0, equals), ids)),
          bias.get<float>()};
}

SamplingOptions sampling_options(const ChatOptions& options) {
  SamplingOptions sampling = options.settings.applied(SamplingOptions{}, "sampling");
  sampling.stop = options.stops;
  for (const std::string& typed : options.biases)
    sampling.logit_bias.push_back(logit_bias(typed));
  return sampling;
}

int test_speed(ChatSession& session, const std::vector<std::int64_t>& lengths, bool json,
               const CancelToken& cancel) {
  const Generation made = session.generator().measure_speed(lengths[0], lengths[1], cancel);
  if (json) {
    print_json({{"event", "speed"},
                {"prompt_tokens", made.prompt_tokens},
                {"tokens", made.tokens},
                {"prompt_tokens_per_second", made.prompt_tokens_per_second()},
                {"tokens_per_second", made.tokens_per_second()},
                {"first_token_seconds", made.prompt_seconds}});
  } else {
    print(
        fmt::format("Reading {} tokens: {} tokens/s, {:.3f} s to the first token\n"
                    "Writing {} tokens: {} tokens/s\n",
                    grouped(made.prompt_tokens),
                    grouped(std::llround(made.prompt_tokens_per_second())), made.prompt_seconds,
                    grouped(made.tokens), grouped(std::llround(made.tokens_per_second()))));
  }
  return made.end == Generation::End::cancelled ? kStopped : kSuccess;
}

int chat(const ChatOptions& options, const GlobalOptions& global) {
  const SamplingOptions sampling = sampling_options(options);
  CancelToken cancel;
  std::atomic<bool> answering = options.prompt_given->count() > 0 || !options.speed_test.empty();
  const StopSignals signals([&] {
    // There is nothing to save, and a wait for the next line cannot be interrupted otherwise.
    if (!answering) std::_Exit(kStopped);
    cancel.request();
  });
  ChatSession session = open_session(options, global);
  for (const std::string& note : {session.notice(), session.weights_note()})
    if (!note.empty()) print_note(note);
  if (!options.speed_test.empty())
    return test_speed(session, options.speed_test, global.json, cancel);
  Conversing conversation(session, {.sampling = sampling,
                                    .system = options.system,
                                    .input = options.input,
                                    .raw = options.raw,
                                    .json = global.json});
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
                   "What the system's message says, to a model with a chat template")
      ->type_name("TEXT");
  command
      ->add_option("--input", options->input,
                   "What the message is about: a part of its own in the alpaca template")
      ->type_name("TEXT");
  command->add_flag("--raw", options->raw, "Continue the text, though the model has a template");
  command->add_option("--stop", options->stops, "The answer ends before this text; can be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--logit-bias", options->biases,
                   "Makes a token more probable, or less; can be repeated")
      ->type_name("ID=BIAS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--speed-test", options->speed_test,
                   "Only measure: reading so many tokens and writing so many")
      ->type_name("PROMPT LENGTH")
      ->expected(2);
  options->settings.add_to(*command);
  command->callback([options, &global, &action] {
    action = [options, &global] { return chat(*options, global); };
  });
}

}  // namespace athanor
