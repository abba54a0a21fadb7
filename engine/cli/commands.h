// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "engine/backend/registry.h"

namespace CLI {
class App;
}

namespace athanor {

/// What may stand before or after any command.
struct GlobalOptions {
  std::string home;  ///< empty: the usual place
  bool json = false;
  std::string threads;                 ///< as typed; empty: all
  std::string device;                  ///< as typed; empty: the best
  std::string program = "athanorctl";  ///< as it was called

  std::filesystem::path home_folder() const;
  /// Throws when the device is none of this machine's or cannot be used.
  BackendOptions backend() const;
  /// Says, when the processor is used because a card cannot be, why; nothing when it was asked for.
  void tell_unused_card() const;
  /// What to type for `words` of this program, as it was called and for the same home.
  std::string command(const std::string& words) const;
};

/// What the typed command does; returns the exit status and throws Error.
using Action = std::function<int()>;

/// Each adds one command, which sets `action` when it is the one that was typed. The options live
/// as long as the App.
void add_train_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_eval_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_sft_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_resume_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_take_over_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_chat_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_import_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_export_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_merge_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_lora_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_runs_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_plan_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_cards_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_data_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_devices_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_tokenizer_command(CLI::App& app, const GlobalOptions& global, Action& action);
void add_presets_command(CLI::App& app, const GlobalOptions& global, Action& action);

}  // namespace athanor
