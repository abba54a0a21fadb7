// SPDX-License-Identifier: GPL-3.0-or-later
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>

#include "engine/base/paths.h"
#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/output.h"
#include "engine/cli/setting_options.h"

namespace athanor {

std::filesystem::path GlobalOptions::home_folder() const {
  return home.empty() ? default_home() : std::filesystem::path(home);
}

BackendOptions GlobalOptions::backend() const {
  BackendOptions options{.device = find_devices().usable(device).id};
  if (!threads.empty()) {
    options.threads = static_cast<int>(whole_number("--threads", threads, Bounds{0, 1024}));
  }
  return options;
}

void GlobalOptions::tell_unused_card() const {
  const Devices& devices = find_devices();
  const std::string reason = devices.unused_card(devices.best());
  if (!device.empty() || reason.empty()) return;
  print_note("Running on the processor: " + single_line(reason));
}

namespace {

/// The word as a shell takes it.
std::string quoted(const std::string& word) {
  const bool is_plain = std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("/._-+", c) != nullptr;
  });
  if (is_plain) return word;
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string GlobalOptions::command(const std::string& words) const {
  return quoted(program) + " " + words + (home.empty() ? std::string() : " --home " + quoted(home));
}

namespace {

/// CLI11's findings in our own words.
std::string usage_sentence(const CLI::App& app, const CLI::ParseError& error,
                           const GlobalOptions& global) {
  const std::string program = quoted(global.program);
  const std::string help = "See " + program + " --help, or " + program + " COMMAND --help.";
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  if (error.get_name() == "ArgumentMismatch") {
    return text.find("At Most") == std::string::npos ? name + " needs a value."
                                                     : name + " was given more than once.";
  }
  const std::vector<std::string> not_understood = app.remaining(true);
  if (!not_understood.empty()) {
    return "\"" + not_understood.front() + "\" is not understood here. " + help;
  }
  if (app.get_subcommands().empty()) {
    return "Say what to do: train, sft, lora, resume, chat, eval, plan, runs, import, export, "
           "merge, data, tokenizer, presets, devices or cards. " +
           help;
  }
  return text + ". " + help;
}

int run(int count, char** arguments) {
  CLI::App app("Athanor trains small language models on your own machine.", "athanorctl");
  GlobalOptions global;
  if (count > 0) global.program = arguments[0];
  Action action;
  app.set_version_flag("--version", "athanorctl " ATHANOR_VERSION);
  const CLI::Option* home =
      app.add_option("--home", global.home, "Where Athanor keeps its files")->type_name("FOLDER");
  app.add_flag("--json", global.json, "Answer in JSON, for programs");
  const CLI::Option* threads = app.add_option("--threads", global.threads,
                                              "Threads to compute with; 0: as many as there are")
                                   ->type_name("N");
  const CLI::Option* device =
      app.add_option("--device", global.device,
                     "What to compute on: cpu, or a card such as cuda:0; see devices")
          ->type_name("ID");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kExitCodesHelp);
  for (const auto add :
       {add_train_command, add_sft_command, add_lora_command, add_resume_command, add_chat_command,
        add_eval_command, add_runs_command, add_take_over_command, add_import_command,
        add_export_command, add_merge_command, add_plan_command, add_presets_command,
        add_data_command, add_tokenizer_command, add_devices_command, add_cards_command}) {
    add(app, global, action);
  }
  try {
    app.parse(count, arguments);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    print_problem(usage_sentence(app, error, global));
    return kBadUsage;
  }
  if (home->count() > 0 && global.home.empty()) {
    throw Error(ErrorKind::invalid_argument,
                "--home must name a folder; leave it out for the usual place.");
  }
  if (device->count() > 0 && global.device.empty()) {
    throw Error(ErrorKind::invalid_argument,
                "--device must name a device; leave it out for the best. See them with: " +
                    global.command("devices"));
  }
  if (threads->count() > 0) whole_number("--threads", global.threads, Bounds{0, 1024});
  return action();
}

}  // namespace

}  // namespace athanor

int main(int count, char** arguments) {
  try {
    return athanor::run(count, arguments);
  } catch (const athanor::Error& error) {
    athanor::print_problem(error.message());
    return athanor::exit_code_of(error.kind());
  } catch (const std::exception& error) {
    athanor::print_problem(std::string("The program itself failed: ") + error.what());
    return athanor::kOtherFailure;
  }
}
