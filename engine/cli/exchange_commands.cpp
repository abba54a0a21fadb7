// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <array>
#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/json_events.h"
#include "engine/cli/output.h"
#include "engine/cli/setting_options.h"
#include "engine/cli/stop_signals.h"
#include "engine/cli/terminal_progress.h"
#include "engine/session/adapter_exchange.h"
#include "engine/session/model_exchange.h"

namespace athanor {

namespace {

struct ImportTyped {
  std::string path;
  std::string name;
  std::string context;
  std::string base;
  CLI::Option* context_given = nullptr;
  CLI::Option* base_given = nullptr;
};

struct MergeTyped {
  std::string run;
  std::string name;
  std::string checkpoint;
  CLI::Option* checkpoint_given = nullptr;
};

struct ExportTyped {
  std::string run;
  std::string folder;
  std::string kind;
  std::string type;
  std::string checkpoint;
  CLI::Option* type_given = nullptr;
  CLI::Option* checkpoint_given = nullptr;
};

/// Calls `work(cancel, progress)` with its progress shown and Ctrl+C attended to.
template <class Work>
int attended(const GlobalOptions& global, const char* stopped, const Work& work) {
  CancelToken cancel;
  const StopSignals signals([&cancel] { cancel.request(); });
  TerminalProgress shown(output_is_terminal());
  JsonEvents events;
  SessionObserver& observer = global.json ? static_cast<SessionObserver&>(events) : shown;
  try {
    work(cancel, [&](const std::string& stage, std::int64_t done, std::int64_t total) {
      observer.on_stage(stage, done, total);
    });
    return kSuccess;
  } catch (const Cancelled&) {
    shown.finish();
    print_problem(stopped);
    return kStopped;
  }
}

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1LL << 30));
}

std::string_view name_of_type(DType type) {
  return type == DType::bf16 ? "bf16" : "f32";
}

void tell_made(const RunRecord& record, const char* event, const std::string& how,
               const GlobalOptions& global) {
  if (global.json) return print_json({{"event", event}, {"run", record.id}, {"name", record.name}});
  if (output_is_terminal()) print_line("");
  print_line(fmt::format("{} as run {} \"{}\".", how, record.id, single_line(record.name)));
  print_line("Talk to it with: " + global.command(fmt::format("chat {}", record.id)));
}

int import_adapter_typed(const ImportTyped& typed, const GlobalOptions& global) {
  const std::int64_t base = whole_number("--base", typed.base, Bounds{1, 9e15});
  if (typed.context_given->count() > 0) {
    throw Error(ErrorKind::invalid_argument,
                "--context is that of run " + typed.base + " where --base names it. Leave it out.");
  }
  tell_made(import_adapter(global.home_folder(), typed.path, base, typed.name), "imported",
            fmt::format("Imported, beside the model of run {},", base), global);
  return kSuccess;
}

int merge_typed(const MergeTyped& typed, const GlobalOptions& global) {
  const std::int64_t run = whole_number("RUN", typed.run, Bounds{1, 9e15});
  std::optional<std::int64_t> step;
  if (typed.checkpoint_given->count() > 0)
    step = whole_number("--checkpoint", typed.checkpoint, Bounds{0, 1e9});
  return attended(global, "Stopped; nothing was merged.",
                  [&](const CancelToken& cancel, const ProgressCallback& progress) {
                    tell_made(
                        merge_run(global.home_folder(), run, step, typed.name, cancel, progress),
                        "merged", fmt::format("Merged run {}", run), global);
                  });
}

int import_typed(const ImportTyped& typed, const GlobalOptions& global) {
  if (typed.base_given->count() > 0) return import_adapter_typed(typed, global);
  ImportOptions options{.name = typed.name, .model = {}};
  if (typed.context_given->count() > 0)
    options.model.context = whole_number("--context", typed.context, Bounds{1, 1e9});
  return attended(
      global, "Stopped; nothing was imported.",
      [&](const CancelToken& cancel, const ProgressCallback& progress) {
        const ImportedModel made =
            import_model(global.home_folder(), typed.path, options, cancel, progress);
        if (global.json) {
          return print_json({{"event", "imported"},
                             {"run", made.record.id},
                             {"name", made.record.name},
                             {"architecture", name_of(made.architecture)},
                             {"parameters", made.record.parameters},
                             {"weights", name_of_type(made.weights)},
                             {"notices", made.notices}});
        }
        if (output_is_terminal()) print_line("");
        for (const std::string& notice : made.notices)
          print_line("Note: " + single_line(notice));
        print_line(
            fmt::format("Imported as run {} \"{}\": a {} model of {} parameters, kept as {}.",
                        made.record.id, single_line(made.record.name), name_of(made.architecture),
                        grouped(made.record.parameters), name_of_type(made.weights)));
        print_line("Talk to it with: " + global.command(fmt::format("chat {}", made.record.id)));
      });
}

FileKind kind_typed(const std::string& text) {
  if (text == "hf") return FileKind::hugging_face;
  if (text == "gguf") return FileKind::gguf;
  throw Error(ErrorKind::invalid_argument,
              "--to must be hf, gguf or peft; it is \"" + single_line(text) + "\".");
}

NumberFormat type_typed(const std::string& text) {
  constexpr auto kNames = names_of(NumberFormat{});
  const auto* const found = std::ranges::find(kNames, text);
  if (found != kNames.end()) return static_cast<NumberFormat>(found - kNames.begin());
  throw Error(ErrorKind::invalid_argument,
              "--type must be f32, f16, bf16, q8_0 or q4_0; it is \"" + single_line(text) + "\".");
}

int export_adapter_typed(const ExportTyped& typed, std::int64_t run, const RunStore& store,
                         const GlobalOptions& global) {
  if (typed.type_given->count() > 0) {
    throw Error(ErrorKind::invalid_argument,
                "--type is of models; adapters are written as f32. Leave it out.");
  }
  std::optional<std::int64_t> step;
  if (typed.checkpoint_given->count() > 0)
    step = whole_number("--checkpoint", typed.checkpoint, Bounds{0, 1e9});
  const std::int64_t written = export_adapter(store.run_folder(run), step, typed.folder);
  if (global.json) {
    print_json({{"event", "exported"},
                {"run", run},
                {"step", written},
                {"to", typed.kind},
                {"folder", typed.folder}});
  } else {
    print_line(
        fmt::format("Wrote the adapters of step {} of run {} to {}.", written, run, typed.folder));
  }
  return kSuccess;
}

int export_typed(const ExportTyped& typed, const GlobalOptions& global) {
  const std::int64_t run = whole_number("RUN", typed.run, Bounds{1, 9e15});
  const bool adapter = typed.kind == "peft";
  ExportRequest request{.step = {},
                        .kind = adapter ? FileKind::hugging_face : kind_typed(typed.kind),
                        .type = {},
                        .folder = typed.folder};
  if (typed.type_given->count() > 0) request.type = type_typed(typed.type);
  if (typed.checkpoint_given->count() > 0)
    request.step = whole_number("--checkpoint", typed.checkpoint, Bounds{0, 1e9});
  const RunStore store(global.home_folder());
  if (!store.run(run)) {
    throw Error(ErrorKind::not_found,
                fmt::format("There is no run {}. See them with: {}", run, global.command("runs")));
  }
  if (adapter) return export_adapter_typed(typed, run, store, global);
  return attended(global, "Stopped; nothing was written.",
                  [&](const CancelToken& cancel, const ProgressCallback& progress) {
                    const ExportedModel made =
                        export_run(store.run_folder(run), request, cancel, progress);
                    if (!made.notice.empty()) print_note(made.notice);
                    if (global.json) {
                      return print_json({{"event", "exported"},
                                         {"run", run},
                                         {"step", made.step},
                                         {"to", typed.kind},
                                         {"type", name_of(made.type)},
                                         {"weights_bytes", made.weights_bytes},
                                         {"folder", typed.folder}});
                    }
                    if (output_is_terminal()) print_line("");
                    print_line(fmt::format("Wrote step {} of run {} to {}: {} of weights as {}.",
                                           made.step, run, typed.folder,
                                           gibibytes(made.weights_bytes), name_of(made.type)));
                  });
}

}  // namespace

void add_import_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand(
      "import", "Take in a model of another program: a Hugging Face folder or a GGUF file");
  const auto typed = std::make_shared<ImportTyped>();
  command->add_option("PATH", typed->path, "The folder or file")->required();
  command->add_option("--name", typed->name, "The run's name; without it the model's own")
      ->type_name("TEXT");
  typed->context_given =
      command
          ->add_option(
              "--context", typed->context,
              "Tokens it sees at once; without it as many as it was made for, at most 8192")
          ->type_name("N");
  typed->base_given =
      command
          ->add_option("--base", typed->base,
                       "The run whose model PATH is an adapter for, a folder of PEFT's")
          ->type_name("RUN");
  command->callback([typed, &global, &action] {
    action = [typed, &global] { return import_typed(*typed, global); };
  });
}

void add_export_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand(
      "export", "Write a run's model for other programs: transformers, llama.cpp, Ollama");
  const auto typed = std::make_shared<ExportTyped>();
  command->add_option("RUN", typed->run, "The run's number; see runs")->type_name("N")->required();
  command->add_option("FOLDER", typed->folder, "A new folder to write to")->required();
  command
      ->add_option("--to", typed->kind,
                   "hf: a Hugging Face folder; gguf: a GGUF file and an Ollama Modelfile; peft: "
                   "the adapters alone")
      ->type_name("KIND")
      ->required();
  typed->type_given = command
                          ->add_option("--type", typed->type,
                                       "f32 or bf16, for gguf also f16, q8_0 or q4_0; without it "
                                       "as the checkpoint has them")
                          ->type_name("TYPE");
  typed->checkpoint_given = command
                                ->add_option("--checkpoint", typed->checkpoint,
                                             "The step of a checkpoint; without it the newest")
                                ->type_name("STEP");
  command->callback([typed, &global, &action] {
    action = [typed, &global] { return export_typed(*typed, global); };
  });
}

void add_merge_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command =
      app.add_subcommand("merge", "Make a run of a model with its adapters merged into it");
  const auto typed = std::make_shared<MergeTyped>();
  command->add_option("RUN", typed->run, "The run of the adapters; see runs")
      ->type_name("N")
      ->required();
  command->add_option("--name", typed->name, "The new run's name")->type_name("TEXT");
  typed->checkpoint_given = command
                                ->add_option("--checkpoint", typed->checkpoint,
                                             "The step of a checkpoint; without it the newest")
                                ->type_name("STEP");
  command->callback([typed, &global, &action] {
    action = [typed, &global] { return merge_typed(*typed, global); };
  });
}

}  // namespace athanor
