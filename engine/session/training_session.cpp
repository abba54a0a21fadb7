// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/training_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/session/model_exchange.h"
#include "engine/session/prepared_examples.h"
#include "engine/session/run_recorder.h"
#include "engine/session/run_weights.h"

namespace athanor {

namespace {

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1LL << 30));
}

/// Refuses before launch what would make the machine swap or the system kill the process.
void check_memory(const RunEstimate& estimate, const std::string& run,
                  const std::string& next_step) {
  if (estimate.fits) return;
  throw Error(ErrorKind::invalid_argument,
              run + " needs " + gibibytes(estimate.plan.memory.peak_bytes) + " of memory and " +
                  gibibytes(estimate.available_bytes) + " are free. " + next_step);
}

std::string data_key(const std::filesystem::path& run_folder) {
  const std::filesystem::path path = run_folder / "data.json";
  const Json json = read_json_file(path);
  const auto key = json.find("key");
  if (key == json.end() || !key->is_string()) {
    throw Error(ErrorKind::damaged,
                path.string() + " does not say which data the run uses. Start a new run instead.");
  }
  return key->get<std::string>();
}

std::string describe_start(const RunSpec& spec) {
  return fmt::format("Run {}, step {}", spec.start.run, spec.start.step);
}

/// What the model is, once it is trained: it talks as it was fine-tuned to.
ModelCard card_after(const RunSpec& spec, const BaseModel& base) {
  ModelCard card = base.card;
  card.name = spec.name;
  if (spec.fine_tuning.on())
    card.chat_template = jinja_of(spec.fine_tuning.style(), card.begin_of_text >= 0);
  return card;
}

RunRecord new_record(const RunSpec& spec, const RunEstimate& estimate) {
  return {.name = spec.name,
          .status = RunStatus::preparing,
          .created_ms = now_ms(),
          .updated_ms = now_ms(),
          .steps = spec.train.steps,
          .parameters = estimate.plan.parameters,
          .planned_bytes = estimate.plan.memory.peak_bytes,
          .spec = run_spec_to_json(spec).dump()};
}

Notice notice_of(const std::vector<std::string>& passed_over) {
  if (passed_over.empty()) return {};
  return {.title = "Resumed from an older checkpoint",
          .text = fmt::format("{}", fmt::join(passed_over, " ")),
          .details = {}};
}

/// The state that an Error leaves a run in: what can be resumed is paused.
RunStatus status_after(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::non_finite:
    case ErrorKind::io:
    case ErrorKind::device:
      return RunStatus::paused;
    default:
      return RunStatus::failed;
  }
}

bool has_checkpoint(const std::filesystem::path& checkpoints) {
  try {
    return !CheckpointFolder(checkpoints).list().empty();
  } catch (const Error&) {
    return false;
  }
}

/// The problem as the run's record keeps it, with how to go on where that is left open.
std::string with_next_step(const Error& error, const std::filesystem::path& checkpoints) {
  // A loss that is no number says itself what to resume from.
  if (error.kind() == ErrorKind::non_finite || status_after(error) != RunStatus::paused) {
    return error.message();
  }
  return error.message() + (has_checkpoint(checkpoints)
                                ? " Then resume."
                                : " Then start the run again; no checkpoint was saved yet.");
}

/// A run list that cannot be written, as on a full disk, must not hide how the run ended: the
/// record has it all the same, and the store marks the run as interrupted later.
void close_with_problem(RunRecorder& recorder, RunStatus status, const std::string& problem) {
  try {
    recorder.close(status, problem);
  } catch (const Error&) {
    return;
  }
}

SessionEnd end_of(RunRecorder& recorder, const PreparedData& data, ErrorKind problem_kind) {
  return {.record = recorder.record(),
          .problem_kind = problem_kind,
          .unigram_entropy = data.unigram_entropy,
          .bits_per_byte = recorder.bits_per_byte()};
}

}  // namespace

RunEstimate estimate_run(const RunSpec& spec, const BackendOptions& options) {
  check_run_spec(spec);
  const Device& device = find_devices().usable(options.device);
  RunEstimate estimate{
      .plan = plan_training(spec.model, suited_to(device.traits(), spec.train), device.traits()),
      .capacity_bytes = device.memory_bytes,
      .available_bytes = available_bytes(device)};
  estimate.fits = estimate.plan.memory.peak_bytes <= estimate.available_bytes;
  return estimate;
}

SessionEnd TrainingSession::start(const RunSpec& asked, TrainControl& control,
                                  SessionObserver& observer,
                                  const std::optional<RehearsalRow>& rehearsal) {
  RunSpec spec = asked;
  spec.train = suited_to(find_devices().usable(options_.device).traits(), spec.train);
  const RunEstimate estimate = estimate_run(spec, options_);
  create_folders(home_);
  RunStore store(home_);
  if (!store.recovery_note().empty()) observer.on_notice(store.recovery_note());
  const ProgressCallback progress = [&](const std::string& stage, std::int64_t done,
                                        std::int64_t total) {
    observer.on_stage(stage, done, total);
  };
  std::optional<BaseModel> base;
  if (spec.start.run > 0) base.emplace(begin_from(spec, observer));
  // Before anything is made for the run.
  if (spec.train.lora.on()) static_cast<void>(RunWeights::open_base(spec));
  PreparedData data =
      spec.fine_tuning.on()
          ? prepare_examples(home_, spec, base->tokenizer, base->card.begin_of_text,
                             control.token(), progress)
          : prepare_data(home_, spec, control.token(), progress,
                         [&](const CorpusProgress& corpus) { observer.on_corpus(corpus); });
  if (spec.fine_tuning.on()) count_steps(spec, data);
  const Notice notice =
      spec.fine_tuning.on() ? notice_of_examples(data.folder) : notice_about(data);
  if (!notice.empty()) observer.on_notice(notice);
  check_memory(estimate, "This run",
               "Choose a smaller train.micro_batch or model.context, or a smaller model.");
  CheckpointFolder(home_).check_room(estimate.plan.checkpoint_bytes);
  RunRecord record = new_record(spec, estimate);
  record.id = store.create_run(record);
  if (rehearsal) store.append(record.id, *rehearsal);
  const std::filesystem::path folder = store.run_folder(record.id);
  create_folders(folder / "checkpoints");
  const RunLock lock(folder);
  write_file_atomically(folder / "spec.json", run_spec_to_json(spec).dump(2));
  write_file_atomically(folder / "data.json",
                        Json{{"key", data.folder.filename().string()}}.dump(2));
  data.tokenizer.save(folder / "tokenizer.json");
  keep_with_run(data, folder);
  if (base) write_model_card(folder, card_after(spec, *base), describe_start(spec));
  return train(store, std::move(record), spec, data, {.base = base ? &*base : nullptr}, control,
               observer);
}

BaseModel TrainingSession::begin_from(RunSpec& spec, SessionObserver& observer) const {
  BaseModel base = open_base_model(home_, spec.start.run, spec.start.step);
  check_base_model(base, spec);
  if (spec.train.lora.on()) {
    spec.base = {.checkpoint = base.checkpoint.path.string(),
                 .fingerprint = RunWeights::open_checkpoint(base.checkpoint.path).fingerprint()};
  }
  if (!base.notice.empty()) {
    observer.on_notice(
        {.title = "Beginning from an older checkpoint", .text = base.notice, .details = {}});
  }
  if (!spec.fine_tuning.on() && spec.data.tokenizer.empty())
    spec.data.tokenizer = (run_folder_in(home_, spec.start.run) / "tokenizer.json").string();
  return base;
}

TrainingSession::Resumed TrainingSession::checkpoint_of(const RunRecord& record,
                                                        const CheckpointFolder& checkpoints,
                                                        std::optional<std::int64_t> step) {
  const std::vector<CheckpointFolder::Entry> entries = checkpoints.list();
  if (entries.empty()) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("Run {} has no checkpoint yet to go on from. Start it again.", record.id));
  }
  if (!step) {
    std::vector<std::string> problems;
    CheckpointFolder::Loaded newest = checkpoints.load_newest(true, problems);
    return {.checkpoint = std::move(newest), .notice = notice_of(problems), .goes_back = false};
  }
  const auto found = std::ranges::find(entries, *step, &CheckpointFolder::Entry::step);
  if (found != entries.end()) {
    return {
        .checkpoint = CheckpointFolder::load(found->path, true), .notice = {}, .goes_back = true};
  }
  std::vector<std::int64_t> steps;
  for (const CheckpointFolder::Entry& entry : entries)
    steps.push_back(entry.step);
  throw Error(ErrorKind::not_found,
              fmt::format("Run {} has no checkpoint of step {}. Choose one of: {}.", record.id,
                          *step, fmt::join(steps, ", ")));
}

SessionEnd TrainingSession::resume(std::int64_t run_id, const ResumeOptions& options,
                                   TrainControl& control, SessionObserver& observer) {
  RunStore store(home_);
  store.mark_interrupted();
  const std::optional<RunRecord> record = store.run(run_id);
  if (!record) {
    throw Error(ErrorKind::not_found,
                fmt::format("There is no run {}: it may have been deleted.", run_id));
  }
  const std::filesystem::path folder = store.run_folder(run_id);
  const RunLock lock(folder);
  RunSpec spec =
      run_spec_from_json(read_json_file(folder / "spec.json"), (folder / "spec.json").string());
  if (!spec.imported_from.empty()) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("Run {} was imported, so there is no training of it to go on with. Talk "
                    "to it, or export it.",
                    run_id));
  }
  const CheckpointFolder checkpoints(folder / "checkpoints");
  checkpoints.remove_partial();
  const Resumed resumed = checkpoint_of(*record, checkpoints, options.step);
  if (resumed.checkpoint.step >= spec.train.steps && record->status == RunStatus::finished) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("Run {} is finished: all of its {} steps are done.", run_id, spec.train.steps));
  }
  if (options.learning_rate_scale != 1) {
    spec.train.learning_rate *= options.learning_rate_scale;
    check_run_spec(spec);
    write_file_atomically(folder / "spec.json", run_spec_to_json(spec).dump(2));
  }
  const ProgressCallback progress = [&](const std::string& stage, std::int64_t done,
                                        std::int64_t total) {
    observer.on_stage(stage, done, total);
  };
  const std::string key = data_key(folder);
  PreparedData data = spec.fine_tuning.on()
                          ? reopen_examples(home_, key, folder, spec, control.token(), progress)
                          : reopen_data(home_, key, folder, spec, control.token(), progress);
  check_memory(estimate_run(spec, options_), fmt::format("Run {}", run_id),
               "Close other programs, then resume again.");
  return train(store, *record, spec, data, {.resumed = &resumed}, control, observer);
}

SessionEnd TrainingSession::train(RunStore& store, RunRecord record, const RunSpec& spec,
                                  PreparedData& data, const Beginning& beginning,
                                  TrainControl& control, SessionObserver& observer) {
  const Resumed* const resumed = beginning.resumed;
  const std::filesystem::path folder = store.run_folder(record.id);
  RunRecorder recorder(store, std::move(record), observer);
  std::optional<RunStatus> ended;
  try {
    const auto backend = make_backend(options_);
    const bool frozen = spec.train.lora.on();
    std::optional<RunWeights> base;
    if (frozen) {
      base.emplace(RunWeights::open_base(spec));
    } else if (beginning.base != nullptr) {
      base.emplace(RunWeights::open_checkpoint(beginning.base->checkpoint.path));
    }
    Trainer trainer(
        {.model = spec.model,
         .train = spec.train,
         .train_tokens = data.train,
         .validation_tokens = data.validation,
         .end_of_text = data.tokenizer.end_of_text(),
         .validation_bytes = data.validation_bytes,
         .checkpoints = folder / "checkpoints",
         .train_examples = data.train_examples ? &*data.train_examples : nullptr,
         .validation_examples = data.validation_examples ? &*data.validation_examples : nullptr,
         .first_weights = base && !frozen ? &base->source() : nullptr,
         .base = frozen ? FrozenBase{.weights = &base->source(),
                                     .path = spec.base.checkpoint,
                                     .fingerprint = spec.base.fingerprint}
                        : FrozenBase()},
        *backend, resumed == nullptr ? nullptr : &resumed->checkpoint);
    const std::int64_t first_step = trainer.state().step;
    recorder.record().device = backend->device().name + ", " + backend->device().detail;
    recorder.record().step = first_step;
    recorder.record().status = RunStatus::running;
    recorder.record().problem.clear();
    if (resumed != nullptr && resumed->goes_back) {
      CheckpointFolder(folder / "checkpoints").set_aside_after(first_step);
    }
    if (resumed != nullptr) store.truncate_after(recorder.record().id, first_step);
    recorder.event(resumed == nullptr ? "started" : "resumed",
                   fmt::format("Learning rate {:g}", spec.train.learning_rate));
    observer.on_started({.record = recorder.record(),
                         .spec = spec,
                         .plan = trainer.plan(),
                         .device_id = find_devices().usable(options_.device).id,
                         .device = backend->device(),
                         .allocated_bytes = trainer.allocated_bytes(),
                         .first_step = first_step,
                         .unigram_entropy = data.unigram_entropy,
                         .train_tokens = data.train.tokens(),
                         .validation_tokens = data.validation.tokens()});
    if (const std::string told = backend->take_notice(); !told.empty()) {
      recorder.event("device", told);
      observer.on_notice({.title = "About the card", .text = told, .details = {}});
    }
    if (resumed != nullptr && !resumed->notice.empty()) {
      recorder.event("checkpoint_damaged", resumed->notice.text);
      observer.on_notice(resumed->notice);
    }
    const bool finished = trainer.run(control, recorder) == Trainer::End::finished;
    ended = finished ? RunStatus::finished : RunStatus::stopped;
    recorder.close(*ended, "");
    return end_of(recorder, data, ErrorKind::internal);
  } catch (const Error& error) {
    close_with_problem(recorder, ended.value_or(status_after(error)),
                       ended ? error.message() : with_next_step(error, folder / "checkpoints"));
    return end_of(recorder, data, error.kind());
  } catch (const std::exception& error) {
    close_with_problem(recorder, RunStatus::failed,
                       std::string("The program itself failed: ") + error.what());
    return end_of(recorder, data, ErrorKind::internal);
  }
}

}  // namespace athanor
