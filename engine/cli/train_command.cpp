// SPDX-License-Identifier: GPL-3.0-or-later
#include <CLI/App.hpp>
#include <array>
#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/session_runner.h"
#include "engine/cli/setting_options.h"
#include "engine/data/utf8.h"

namespace athanor {

namespace {

constexpr std::array kSettings = {
    SettingOption{"--steps", "train", "steps", "Steps to train"},
    SettingOption{"--batch", "train", "micro_batch", "Sequences at a time"},
    SettingOption{"--accumulation", "train", "gradient_accumulation", "Batches per step"},
    SettingOption{"--lr", "train", "learning_rate", "The learning rate at its highest"},
    SettingOption{"--schedule", "train", "schedule",
                  "one_cycle, cosine, linear, warmup_stable_decay or constant"},
    SettingOption{"--warmup", "train", "warmup_fraction", "The part of the steps that warms up"},
    SettingOption{"--weight-decay", "train", "weight_decay", "AdamW's weight decay"},
    SettingOption{"--clip", "train", "clip_norm", "Largest gradient norm; 0: not clipped"},
    SettingOption{"--seed", "train", "seed", "Determines everything random"},
    SettingOption{"--eval-every", "train", "evaluation_interval",
                  "Steps between measurements of the validation loss; 0: only at the end"},
    SettingOption{"--save-every", "train", "checkpoint_interval",
                  "Steps between checkpoints; 0: only at the end"},
    SettingOption{"--keep", "train", "kept_checkpoints", "Checkpoints kept besides the best"},
    SettingOption{"--context", "model", "context", "Tokens the model sees at once"},
    SettingOption{"--vocabulary", "model", "vocabulary", "Different tokens"},
    SettingOption{"--layers", "model", "layers", "Layers"},
    SettingOption{"--width", "model", "width", "Width of the layers"},
    SettingOption{"--heads", "model", "heads", "Attention heads"},
    SettingOption{"--kv-heads", "model", "kv_heads", "Heads of keys and values"},
    SettingOption{"--ffn", "model", "ffn", "Width of the MLP's inner layer"},
    SettingOption{"--dropout", "model", "dropout", "Dropout while training"},
    SettingOption{"--held-out", "data", "validation_fraction",
                  "The part of the text kept for validation"},
};

struct TrainOptions {
  SettingOptions settings{kSettings};
  std::string preset;
  std::string spec_file;
  std::string data;
  std::string name;
  CLI::Option* preset_given = nullptr;
  CLI::Option* spec_given = nullptr;
  CLI::Option* data_given = nullptr;
  CLI::Option* name_given = nullptr;
};

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::invalid_argument, sentence);
}

void check_text(const std::string& flag, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_character_bytes(text, at);
    if (bytes == 0) refuse(flag + " must be UTF-8 text. Rename the file, or choose another name.");
    at += bytes;
  }
}

RunSpec base_spec(const TrainOptions& options) {
  const bool from_preset = options.preset_given->count() > 0;
  const bool from_file = options.spec_given->count() > 0;
  if (from_preset && from_file) {
    refuse("--spec and --preset both say what to train. Use one of them.");
  }
  if (from_file) {
    if (options.spec_file.empty()) refuse("--spec must name a file of run settings (JSON).");
    RunSpec spec = run_spec_from_json(read_json_file(options.spec_file), options.spec_file);
    if (spec.name.empty()) spec.name = std::filesystem::path(options.spec_file).stem().string();
    return spec;
  }
  if (!from_preset) {
    refuse("Say what to train: --preset ID (athanorctl presets lists them) or --spec FILE.");
  }
  try {
    const Preset& chosen = preset(options.preset);
    RunSpec spec = chosen.spec;
    if (spec.name.empty()) spec.name = chosen.title;
    return spec;
  } catch (const Error& error) {
    refuse("--preset: " + error.message());
  }
}

RunSpec spec_as_typed(const TrainOptions& options) {
  RunSpec spec = base_spec(options);
  if (options.name_given->count() > 0) {
    if (options.name.empty()) refuse("--name must not be empty; leave it out for the usual name.");
    spec.name = options.name;
  }
  if (options.data_given->count() > 0) {
    if (options.data.empty()) {
      refuse("--data must name a text file; leave it out to train on the built-in stories.");
    }
    spec.data.file = options.data;
  }
  check_text("--name", spec.name);
  check_text("--data", spec.data.file);
  // A run may be resumed from another folder.
  if (!spec.data.file.empty()) {
    spec.data.file = std::filesystem::absolute(spec.data.file).lexically_normal().string();
  }
  spec.data = options.settings.applied(spec.data, "data");
  spec.model = options.settings.applied(spec.model, "model");
  spec.train = options.settings.applied(spec.train, "train");
  return spec;
}

int train(const TrainOptions& options, const GlobalOptions& global) {
  const RunSpec spec = spec_as_typed(options);
  try {
    return run_session(
        global, [&](TrainingSession& session, TrainControl& control, SessionObserver& observer) {
          return session.start(spec, control, observer);
        });
  } catch (const Error& error) {
    const std::string sentence = options.settings.in_terms_of_options(error.message());
    print_problem(sentence);
    // A text that cannot be used is no setting, though the engine calls both invalid.
    const bool about_text = error.kind() == ErrorKind::invalid_argument &&
                            sentence == error.message() && !spec.data.file.empty() &&
                            sentence.find(spec.data.file) != std::string::npos;
    return about_text ? kDataProblem : exit_code_of(error.kind());
  }
}

}  // namespace

void add_train_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("train", "Train a new run (the demo: athanorctl train --preset spark)");
  const auto options = std::make_shared<TrainOptions>();
  const auto add = [&](const char* flag, std::string& text, const char* kind, const char* help) {
    return command->add_option(flag, text, help)->type_name(kind);
  };
  options->preset_given = add("--preset", options->preset, "ID", "A preset to train; see presets");
  options->spec_given = add("--spec", options->spec_file, "FILE", "Run settings, as JSON");
  options->data_given =
      add("--data", options->data, "FILE", "A UTF-8 text; without it the built-in stories");
  options->name_given = add("--name", options->name, "TEXT", "The run's name");
  options->settings.add_to(*command);
  command->callback([options, &global, &action] {
    action = [options, &global] { return train(*options, global); };
  });
}

}  // namespace athanor
