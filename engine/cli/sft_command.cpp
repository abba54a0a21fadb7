// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <array>
#include <memory>

#include "engine/base/utf8.h"
#include "engine/cli/base_options.h"
#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/session_runner.h"
#include "engine/cli/setting_options.h"
#include "engine/session/prepared_examples.h"

namespace athanor {

namespace {

constexpr std::array kSettings = {
    SettingOption{"--template", "fine_tuning", "template",
                  "plain, alpaca, chatml, llama2, llama3, mistral, qwen, gemma or zephyr; without "
                  "it the base's own, else alpaca, or plain where the context is small"},
    SettingOption{"--system", "fine_tuning", "system",
                  "The system's message of conversations that have none"},
    SettingOption{"--loss", "fine_tuning", "loss",
                  "answers, last_answer or everything: what is trained"},
    SettingOption{"--truncation", "fine_tuning", "truncation",
                  "leave_out, cut_end or drop_turns: what becomes of conversations longer than the "
                  "context"},
    SettingOption{"--held-out", "fine_tuning", "held_out",
                  "The part of the questions kept for validation"},
    SettingOption{"--epochs", "fine_tuning", "epochs", "Times that every example is seen"},
    SettingOption{"--steps", "train", "steps", "Steps to train, instead of epochs"},
    SettingOption{"--batch", "train", "micro_batch", "Rows at a time"},
    SettingOption{"--accumulation", "train", "gradient_accumulation", "Batches per step"},
    SettingOption{"--lr", "train", "learning_rate",
                  "The learning rate at its highest; without it a tenth of the base's"},
    SettingOption{"--schedule", "train", "schedule",
                  "one_cycle, cosine, linear, warmup_stable_decay or constant"},
    SettingOption{"--weight-decay", "train", "weight_decay", "Weight decay of matrices"},
    SettingOption{"--seed", "train", "seed", "Determines everything random"},
    SettingOption{"--eval-every", "train", "evaluation_interval",
                  "Steps between measurements of the validation loss; 0: only at the end"},
    SettingOption{"--save-every", "train", "checkpoint_interval",
                  "Steps between checkpoints; 0: only at the end"},
    SettingOption{"--keep", "train", "kept_checkpoints", "Checkpoints kept besides the best"},
    SettingOption{"--context", "model", "context", "Tokens the model sees at once"},
    SettingOption{"--dropout", "model", "dropout", "Dropout while training"},
};

struct SftTyped {
  SettingOptions settings{kSettings};
  BaseOptions base;
};

/// The records that were named, or the questions about the built-in stories.
std::string records_of(const SftTyped& typed, const GlobalOptions& global) {
  if (typed.base.data().empty())
    return story_questions_file(global.home_folder(), CancelToken(), {}).string();
  if (!is_utf8(typed.base.data())) {
    throw Error(ErrorKind::invalid_argument,
                "--data must be UTF-8 text. Rename the file, or choose another name.");
  }
  return typed.base.data_file();
}

RunSpec spec_of(const SftTyped& typed, const GlobalOptions& global) {
  const BaseModel base = typed.base.open(global);
  RunSpec spec = fine_tuning_of(base, typed.base.run());
  if (!typed.base.name().empty()) spec.name = typed.base.name();
  const ChatStyle style = usual_style(base);
  spec.fine_tuning.chat_template = style.format;
  spec.fine_tuning.system = style.system;
  if (typed.settings.was_typed("--steps")) spec.fine_tuning.epochs = 0;
  spec.fine_tuning = typed.settings.applied(spec.fine_tuning, "fine_tuning");
  if (!spec.fine_tuning.on()) {
    throw Error(ErrorKind::invalid_argument,
                "--template none writes no conversation down. Choose plain or another.");
  }
  spec.train = typed.settings.applied(spec.train, "train");
  spec.model = typed.settings.applied(spec.model, "model");
  spec.fine_tuning.records = records_of(typed, global);
  return spec;
}

int sft(const SftTyped& typed, const GlobalOptions& global) {
  const RunSpec spec = spec_of(typed, global);
  try {
    return run_session(global, spec);
  } catch (const Error& error) {
    print_problem(typed.settings.in_terms_of_options(error.message()));
    const bool about_records = error.message().find(spec.fine_tuning.records) != std::string::npos;
    return about_records ? kDataProblem : exit_code_of(error.kind());
  }
}

}  // namespace

void add_sft_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("sft", "Fine-tune a run's model on conversations, as a new run");
  const auto typed = std::make_shared<SftTyped>();
  typed->base.add_to(
      *command,
      {.base = "The run to begin from; see runs",
       .data = "Conversations as JSON Lines or JSON (Alpaca, ShareGPT, messages, prompt and "
               "completion); without it questions about the built-in stories",
       .name = "The run's name"});
  typed->settings.add_to(*command);
  command->callback(
      [typed, &global, &action] { action = [typed, &global] { return sft(*typed, global); }; });
}

}  // namespace athanor
