// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <array>
#include <filesystem>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/cli/base_options.h"
#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/session_runner.h"
#include "engine/cli/setting_options.h"

namespace athanor {
namespace {

constexpr std::array kSettings = {
    SettingOption{"--rank", "train", "lora_rank", "Rows of an adapter's inner matrix"},
    SettingOption{"--alpha", "train", "lora_alpha", "An adapter counts alpha / rank"},
    SettingOption{"--rs", "train", "lora_rs", "It counts alpha / √rank instead (rsLoRA)", true},
    SettingOption{"--lora-dropout", "train", "lora_dropout",
                  "Dropout of what adapters read, while training"},
    SettingOption{"--targets", "train", "lora_targets",
                  "The matrices with adapters: some of q,k,v,o,gate,up,down"},
    SettingOption{"--base-weights", "train", "lora_base",
                  "f32, bf16, q8_0 or q4_0: what the frozen weights are kept as (QLoRA)"},
    SettingOption{"--steps", "train", "steps", "Steps to train"},
    SettingOption{"--batch", "train", "micro_batch", "Sequences at a time"},
    SettingOption{"--accumulation", "train", "gradient_accumulation", "Batches per step"},
    SettingOption{"--lr", "train", "learning_rate", "The learning rate at its highest"},
    SettingOption{"--schedule", "train", "schedule",
                  "one_cycle, cosine, linear, warmup_stable_decay or constant"},
    SettingOption{"--warmup", "train", "warmup_fraction", "The part of the steps that warms up"},
    SettingOption{"--optimizer", "train", "optimizer", "adamw or muon"},
    SettingOption{"--moments", "train", "moments", "f32 or 8bit: what AdamW remembers"},
    SettingOption{"--activations", "train", "activations", "f32 or bf16"},
    SettingOption{"--recompute", "train", "recompute_level",
                  "0 keeps all activations … 7 keeps nothing in memory"},
    SettingOption{"--weight-decay", "train", "weight_decay", "Weight decay of adapters"},
    SettingOption{"--clip", "train", "clip_norm", "Largest gradient norm; 0: not clipped"},
    SettingOption{"--seed", "train", "seed", "Determines everything random"},
    SettingOption{"--eval-every", "train", "evaluation_interval",
                  "Steps between measurements of the validation loss; 0: only at the end"},
    SettingOption{"--save-every", "train", "checkpoint_interval",
                  "Steps between checkpoints; 0: only at the end"},
    SettingOption{"--context", "model", "context", "Tokens the model sees at once"},
    SettingOption{"--held-out", "fine_tuning", "held_out", "The part kept for validation"},
    SettingOption{
        "--template", "fine_tuning", "template",
        "Of conversations: plain, alpaca, chatml, llama2, llama3, mistral, qwen, gemma or "
        "zephyr; without it the base's own"},
    SettingOption{"--system", "fine_tuning", "system",
                  "The system's message of conversations that have none"},
    SettingOption{"--loss", "fine_tuning", "loss",
                  "Of conversations: answers, last_answer or everything is trained"},
    SettingOption{"--truncation", "fine_tuning", "truncation",
                  "leave_out, cut_end or drop_turns: what becomes of conversations longer than the "
                  "context"},
    SettingOption{"--epochs", "fine_tuning", "epochs",
                  "Times that every conversation is seen, instead of steps"},
};

struct Typed {
  BaseOptions base;
  SettingOptions settings{kSettings};
};

/// What adapters usually learn well with.
TrainConfig usual_training() {
  TrainConfig train{.steps = 200,
                    .micro_batch = 4,
                    .schedule = Schedule::cosine,
                    .learning_rate = 2e-4,
                    .beta2 = 0.999,
                    .weight_decay = 0};
  train.lora.rank = 16;
  train.lora.alpha = 32;
  return train;
}

/// Conversations, by the name of their file; all else is text.
bool are_records(const std::filesystem::path& file) {
  return file.extension() == ".json" || file.extension() == ".jsonl";
}

void set_data(const Typed& typed, const BaseModel& base, RunSpec& spec) {
  if (!is_utf8(typed.base.data()) || !is_utf8(spec.name)) {
    throw Error(ErrorKind::invalid_argument, "--data and --name must be UTF-8 text.");
  }
  const ChatStyle style = usual_style(base);
  FineTuning tuning{.chat_template = style.format, .system = style.system};
  if (typed.settings.was_typed("--steps")) tuning.epochs = 0;
  tuning = typed.settings.applied(tuning, "fine_tuning");
  const std::string file = typed.base.data_file();
  if (!file.empty() && are_records(file)) {
    tuning.records = file;
    spec.fine_tuning = tuning;
  } else {
    if (!file.empty()) spec.sources = {{.path = file}};
    spec.data.validation_fraction = tuning.held_out_fraction;
  }
}

RunSpec spec_of(const Typed& typed, const GlobalOptions& global) {
  const BaseModel base = typed.base.open(global);
  RunSpec spec = fine_tuning_of(base, typed.base.run());
  spec.name = typed.base.name().empty() ? base.spec.name + ", LoRA" : typed.base.name();
  spec.train = typed.settings.applied(usual_training(), "train");
  spec.model = typed.settings.applied(spec.model, "model");
  set_data(typed, base, spec);
  if (!spec.train.lora.on()) throw Error(ErrorKind::invalid_argument, "--rank must be at least 1.");
  return spec;
}

int train_adapters(const Typed& typed, const GlobalOptions& global) {
  const RunSpec spec = spec_of(typed, global);
  try {
    return run_session(global, spec);
  } catch (const Error& error) {
    print_problem(typed.settings.in_terms_of_options(error.message()));
    return exit_code_of(error.kind());
  }
}

}  // namespace

void add_lora_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand(
      "lora", "Fine-tune a run's model by small adapters beside its frozen weights");
  const auto typed = std::make_shared<Typed>();
  typed->base.add_to(
      *command,
      {.base = "The run whose model it is; see runs",
       .data = "Conversations (.json, .jsonl) or a UTF-8 text; without it the built-in stories",
       .name = "The new run's name"});
  typed->settings.add_to(*command);
  command->callback([typed, &global, &action] {
    action = [typed, &global] { return train_adapters(*typed, global); };
  });
}

}  // namespace athanor
