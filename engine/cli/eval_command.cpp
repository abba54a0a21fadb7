// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <cmath>
#include <filesystem>
#include <memory>

#include "engine/cli/commands.h"
#include "engine/cli/exit_codes.h"
#include "engine/cli/json_events.h"
#include "engine/cli/output.h"
#include "engine/cli/setting_options.h"
#include "engine/cli/stop_signals.h"
#include "engine/cli/terminal_progress.h"
#include "engine/session/base_model.h"
#include "engine/session/model_evaluation.h"
#include "engine/session/model_exchange.h"
#include "engine/session/run_weights.h"

namespace athanor {

namespace {

struct EvalTyped {
  std::string run;
  std::string file;
  std::string checkpoint;
  std::string most_questions = "0";
  std::string most_tokens = "256";
  bool held_out = false;
  bool raw = false;
  bool show = false;
};

/// What a command works with.
struct Evaluating {
  const EvalTyped& typed;
  const GlobalOptions& global;
  CancelToken& cancel;
  ProgressCallback progress;
  JudgeCallback judge;
  std::int64_t run = 0;

  std::optional<std::int64_t> step() const {
    if (typed.checkpoint.empty()) return {};
    return whole_number("--checkpoint", typed.checkpoint, Bounds{0, 1e9});
  }
};

struct Measured {
  ModelMeasurement values;
  std::int64_t step = 0;
  std::string file;
};

std::string full_path(const std::string& file) {
  return std::filesystem::absolute(file).lexically_normal().string();
}

/// A run's model for scoring texts.
struct ScoredModel {
  BaseModel base;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Scorer> scorer;

  ScoredModel(const Evaluating& at)
      : base(open_base_model(at.global.home_folder(), at.run, at.step())),
        backend(make_backend(at.global.backend())) {
    if (!base.notice.empty()) print_note(base.notice);
    scorer = std::make_unique<Scorer>(
        base.spec.model, RunWeights::open_checkpoint(base.checkpoint.path).source(), *backend);
  }
};

Measured perplexity(const Evaluating& at) {
  const ScoredModel model(at);
  return {measure_perplexity(*model.scorer, model.base.tokenizer, model.base.card.begin_of_text,
                             at.typed.file, at.cancel, at.progress),
          model.base.checkpoint.step, full_path(at.typed.file)};
}

Measured choices(const Evaluating& at) {
  const ScoredModel model(at);
  std::optional<ChatTemplate> chat;
  const std::optional<DetectedStyle> found = detect_style(model.base.card.chat_template);
  const std::int32_t begin = model.base.card.begin_of_text;
  if (found && !at.typed.raw)
    chat.emplace(found->style, model.base.tokenizer, found->begins_with_token ? begin : -1);
  return {measure_choices(*model.scorer, model.base.tokenizer, begin, chat ? &*chat : nullptr,
                          at.typed.file, at.cancel, at.progress, at.judge),
          model.base.checkpoint.step, full_path(at.typed.file)};
}

Measured answers(const Evaluating& at) {
  const std::filesystem::path folder = run_folder_in(at.global.home_folder(), at.run);
  const RunSpec spec = read_run_spec(folder);
  AnswerOptions options{
      .most_questions = whole_number("--limit", at.typed.most_questions, Bounds{0, 1e9}),
      .most_tokens = whole_number("--length", at.typed.most_tokens, Bounds{1, 1e6}),
      .held_out_fraction = {}};
  if (at.typed.held_out) {
    if (!spec.fine_tuning.on()) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--held-out is for runs that were fine-tuned, which run {} was not. "
                              "Leave it out.",
                              at.run));
    }
    options.held_out_fraction = spec.fine_tuning.held_out_fraction;
  }
  std::string file = at.typed.file;
  if (file.empty()) file = spec.fine_tuning.records;
  if (file.empty()) {
    throw Error(ErrorKind::invalid_argument,
                "FILE is missing: this run was not fine-tuned, so it has no questions of its own.");
  }
  ChatSession session(folder, at.step(), at.global.backend());
  if (!session.notice().empty()) print_note(session.notice());
  return {measure_answers(session, file, options, at.cancel, at.progress, at.judge), session.step(),
          full_path(file)};
}

std::string sentence_of(const MeasurementRow& row) {
  if (row.kind == "perplexity") {
    return fmt::format("perplexity {:.3f} ({:.4f} bits per byte) over {} tokens", row.value,
                       row.second_value, grouped(row.items));
  }
  const std::string share =
      fmt::format("{:.1f} % of {} questions", 100 * row.value, grouped(row.items));
  if (row.kind == "answers") return share + " answered exactly";
  return fmt::format("{} chosen rightly ({:.1f} % by byte)", share, 100 * row.second_value);
}

Json json_of(const MeasurementRow& row) {
  return {{"step", row.step},
          {"time_ms", row.time_ms},
          {"kind", row.kind},
          {"file", row.file},
          {"items", row.items},
          {"value", row.value},
          {"second_value", row.second_value}};
}

/// Measures with progress shown and Ctrl+C attended to, enters the result in the store and tells
/// it.
template <class Measure>
int evaluate(const EvalTyped& typed, const GlobalOptions& global, const Measure& measure) {
  const std::int64_t run = whole_number("RUN", typed.run, Bounds{1, 9e15});
  RunStore store(global.home_folder());
  if (!store.run(run)) {
    throw Error(ErrorKind::not_found,
                fmt::format("There is no run {}. See them with: {}", run, global.command("runs")));
  }
  CancelToken cancel;
  const StopSignals signals([&cancel] { cancel.request(); });
  TerminalProgress shown(output_is_terminal());
  JsonEvents events;
  SessionObserver& observer = global.json ? static_cast<SessionObserver&>(events) : shown;
  const JudgeCallback judge = [&](const JudgedItem& item) {
    if (!typed.show) return;
    if (global.json) {
      return print_json({{"event", "question"},
                         {"question", item.question},
                         {"expected", item.expected},
                         {"given", item.given},
                         {"right", item.right}});
    }
    print_line(fmt::format("{} {} -> {}{}", item.right ? "right" : "wrong",
                           single_line(item.question), single_line(item.given),
                           item.right ? "" : " (expected: " + single_line(item.expected) + ")"));
  };
  global.tell_unused_card();
  try {
    const Measured made = measure(
        Evaluating{.typed = typed,
                   .global = global,
                   .cancel = cancel,
                   .progress = [&](const std::string& stage, std::int64_t done,
                                   std::int64_t total) { observer.on_stage(stage, done, total); },
                   .judge = judge,
                   .run = run});
    const MeasurementRow row = row_of(made.values, made.step, made.file);
    store.append(run, row);
    if (global.json) {
      Json event = json_of(row);
      event["event"] = "measured";
      event["run"] = run;
      print_json(event);
    } else {
      if (output_is_terminal()) print_line("");
      print_line(fmt::format("Run {}, step {}: {}.", run, row.step, sentence_of(row)));
    }
    return kSuccess;
  } catch (const Cancelled&) {
    shown.finish();
    print_problem("Stopped; nothing was entered.");
    return kStopped;
  }
}

int list(const EvalTyped& typed, const GlobalOptions& global) {
  const std::int64_t run = whole_number("RUN", typed.run, Bounds{1, 9e15});
  const RunStore store(global.home_folder());
  const std::vector<MeasurementRow> rows = store.measurements(run);
  if (global.json) {
    Json all = Json::array();
    for (const MeasurementRow& row : rows)
      all.push_back(json_of(row));
    print_json({{"run", run}, {"measurements", all}});
    return kSuccess;
  }
  if (rows.empty()) print_line(fmt::format("Nothing was measured of run {} yet.", run));
  for (const MeasurementRow& row : rows)
    print_line(
        fmt::format("step {:>7}  {}: {}", row.step, sentence_of(row), single_line(row.file)));
  return kSuccess;
}

using Measure = Measured (*)(const Evaluating&);

}  // namespace

void add_eval_command(CLI::App& app, const GlobalOptions& global, Action& action) {
  CLI::App* command = app.add_subcommand("eval", "Measure a run's model on a file");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    auto typed = std::make_shared<EvalTyped>();
    CLI::App* kind = command->add_subcommand(name, help);
    kind->add_option("RUN", typed->run, "The run's number; see runs")->type_name("N")->required();
    return std::pair(kind, typed);
  };
  const auto add_measure = [&](const char* name, const char* help, const char* file_help,
                               Measure measure) {
    const auto [kind, typed] = add(name, help);
    CLI::Option* const file = kind->add_option("FILE", typed->file, file_help)->type_name("FILE");
    file->required(measure != answers);
    kind->add_option("--checkpoint", typed->checkpoint,
                     "The step of a checkpoint; without it the newest")
        ->type_name("STEP");
    kind->callback([typed = typed, measure, &global, &action] {
      action = [typed, measure, &global] { return evaluate(*typed, global, measure); };
    });
    return std::pair(kind, typed);
  };
  add_measure("perplexity", "How probable the model finds a text", "A UTF-8 text", perplexity);
  const auto [choice, choice_typed] =
      add_measure("choices", "Multiple choice by likelihood",
                  "JSON Lines of question, choices and answer", choices);
  choice->add_flag("--raw", choice_typed->raw,
                   "Choices continue the question, though the model has a chat template");
  choice->add_flag("--show", choice_typed->show, "Show every question and what was chosen");
  const auto [answer, answer_typed] = add_measure(
      "answers", "Exact match of answers to questions",
      "Questions with answers, as sft takes them; without it those of the run's own file", answers);
  answer->add_flag("--held-out", answer_typed->held_out,
                   "Only questions that the run's training held out");
  answer->add_flag("--show", answer_typed->show, "Show every question and its answer");
  answer->add_option("--limit", answer_typed->most_questions, "Questions at most; 0: all")
      ->type_name("N");
  answer->add_option("--length", answer_typed->most_tokens, "Tokens of an answer at most")
      ->type_name("N");
  const auto [listed, listed_typed] = add("list", "What was measured of a run so far");
  listed->callback([typed = listed_typed, &global, &action] {
    action = [typed, &global] { return list(*typed, global); };
  });
}

}  // namespace athanor
