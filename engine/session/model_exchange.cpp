// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/model_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>

#include "engine/base/atomic_folder.h"
#include "engine/base/clock.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"
#include "engine/data/progress_meter.h"
#include "engine/session/run_checkpoint.h"
#include "engine/tensor/bf16.h"
#include "engine/train/trainer.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

constexpr int kOriginFormat = 1;
constexpr const char* kOrigin = "origin.json";
constexpr const char* kLeftoverMark = "import.partial-";

/// Folders of imports that were cut short by a crash.
void remove_leftovers(const fs::path& runs) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator item(runs, error), end; !error && item != end;
       item.increment(error)) {
    const bool ours = item->path().filename().string().starts_with(kLeftoverMark);
    if (ours && !RunLock::held_by_anyone(item->path())) leftovers.push_back(item->path());
  }
  for (const fs::path& leftover : leftovers)
    fs::remove_all(leftover, error);
}

std::string text_for_people(const std::string& text) {
  constexpr std::size_t kMost = 200;
  const std::string shown = is_utf8(text) ? text : std::string();
  return shown.substr(0, next_character_start(shown, std::min(kMost, shown.size())));
}

/// The weights as a checkpoint of step 0, without anything to go on training with.
void write_checkpoint(const ForeignWeights& weights, const fs::path& folder,
                      const CancelToken& cancel, const ProgressCallback& progress) {
  std::vector<NamedTensor> tensors;
  std::unordered_map<std::string, int> index_of;
  std::int64_t total_bytes = 0;
  for (const Parameter& parameter : weights.parameters().all()) {
    index_of.emplace(parameter.name, static_cast<int>(tensors.size()));
    tensors.push_back({parameter.name, {nullptr, weights.type(), parameter.shape}});
    total_bytes += tensors.back().tensor.bytes();
  }
  ProgressMeter meter("Importing the model", total_bytes, cancel, progress);
  std::int64_t done_bytes = 0;
  std::vector<float> numbers;
  const Json state = train_state_to_json(TrainState());
  CheckpointFolder(folder).save(
      {.step = 0,
       .weights = tensors,
       .optimizer = {},
       .state = state,
       .read = [&](const NamedTensor& entry, std::int64_t first, std::span<std::byte> to) {
         numbers.resize(to.size() / static_cast<std::size_t>(size_of(weights.type())));
         weights.read(index_of.at(entry.name), first, numbers);
         const NumberFormat format =
             weights.type() == DType::bf16 ? NumberFormat::bf16 : NumberFormat::f32;
         if (!narrow(format, numbers, to)) {
           throw Error(ErrorKind::internal, "A weight that was checked is no number.");
         }
         meter.update(done_bytes += static_cast<std::int64_t>(to.size()));
       }});
  meter.finish();
}

NumberFormat format_of(const SafetensorsFile& weights) {
  return CheckpointWeights::type_in(weights) == DType::bf16 ? NumberFormat::bf16
                                                            : NumberFormat::f32;
}

RunRecord record_of(const RunSpec& spec, const ForeignWeights& weights) {
  const std::int64_t now = now_ms();
  return {.name = spec.name,
          .status = RunStatus::finished,
          .created_ms = now,
          .updated_ms = now,
          .parameters = weights.parameters().count(),
          .spec = run_spec_to_json(spec).dump()};
}

}  // namespace

ImportedModel import_model(const fs::path& home, const fs::path& path, const ImportOptions& options,
                           const CancelToken& cancel, const ProgressCallback& progress) {
  const ForeignModel foreign = open_foreign_model(path, options.model);
  if (foreign.tokenizer.vocabulary_size() > foreign.settings.model.vocabulary) {
    throw Error(ErrorKind::damaged,
                fmt::format("{} has {} tokens, but its model only {}: they do not belong together. "
                            "Get the model again.",
                            path.string(), foreign.tokenizer.vocabulary_size(),
                            foreign.settings.model.vocabulary));
  }
  RunSpec spec{.name = options.name.empty() ? text_for_people(foreign.card.name) : options.name,
               .imported_from = fs::absolute(path).lexically_normal().string(),
               .model = foreign.settings.model};
  if (spec.name.empty()) spec.name = "Imported model";
  create_folders(home / "runs");
  remove_leftovers(home / "runs");
  AtomicFolder folder(home / "runs" / "import", 0);
  const RunLock lock(folder.path());
  write_checkpoint(foreign.weights, folder.path() / "checkpoints", cancel, progress);
  write_file_atomically(folder.path() / "spec.json",
                        run_spec_to_json(spec).dump(2, ' ', false, Json::error_handler_t::replace));
  foreign.tokenizer.save(folder.path() / "tokenizer.json");
  write_model_card(folder.path(), foreign.card, path.string());

  RunStore store(home);
  ImportedModel made{.record = record_of(spec, foreign.weights),
                     .architecture = foreign.settings.architecture,
                     .weights = foreign.weights.type(),
                     .notices = foreign.settings.notices};
  cancel.throw_if_requested();
  made.record.id = store.create_run(made.record);
  const fs::path place = store.run_folder(made.record.id);
  try {
    folder.commit_as(place);
  } catch (const Error&) {
    store.delete_run(made.record.id);
    throw;
  }
  store.append(made.record.id,
               CheckpointRow{.path = (place / "checkpoints" / "step-00000000").string(),
                             .time_ms = made.record.created_ms});
  store.append(made.record.id, EventRow{.time_ms = made.record.created_ms,
                                        .kind = "imported",
                                        .text = "From " + spec.imported_from});
  return made;
}

bool is_imported(const RunRecord& record) {
  try {
    return !run_spec_from_json(parse_json(record.spec, record.name), record.name)
                .imported_from.empty();
  } catch (const Error&) {
    return false;
  }
}

ModelCard model_card_of(const fs::path& run_folder, const Tokenizer& tokenizer) {
  const fs::path path = run_folder / kOrigin;
  std::error_code error;
  if (!fs::exists(path, error)) {
    // In training here every text follows an end of text.
    return {.name = read_run_spec(run_folder).name, .begin_of_text = tokenizer.end_of_text()};
  }
  const Json json = read_json_file(path);
  try {
    const ModelCard card{.name = json.at("name").get<std::string>(),
                         .chat_template = json.at("chat_template").get<std::string>(),
                         .begin_of_text = json.at("begin_of_text").get<std::int32_t>()};
    if (json.at("format") == kOriginFormat && card.begin_of_text >= -1 &&
        card.begin_of_text < tokenizer.vocabulary_size()) {
      return card;
    }
  } catch (const Json::exception&) {
  }
  throw Error(ErrorKind::damaged,
              path.string() + " was changed after it was saved. Import the model again.");
}

NumberFormat saved_format(const fs::path& checkpoint) {
  return format_of(SafetensorsFile::open(checkpoint / "weights.safetensors"));
}

void write_model_card(const fs::path& run_folder, const ModelCard& card, const std::string& from) {
  const Json origin{{"format", kOriginFormat},
                    {"file", from},
                    {"name", card.name},
                    {"chat_template", card.chat_template},
                    {"begin_of_text", card.begin_of_text}};
  write_file_atomically(run_folder / kOrigin,
                        origin.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

ExportedModel export_run(const fs::path& run_folder, const ExportRequest& request,
                         const CancelToken& cancel, const ProgressCallback& progress) {
  ExportedModel made;
  const RunSpec spec = read_run_spec(run_folder);
  check_model_config(spec.model);
  const CheckpointFolder::Loaded loaded =
      load_run_checkpoint(run_folder, request.step, made.notice);
  const Tokenizer tokenizer = Tokenizer::load(run_folder / "tokenizer.json");
  ModelCard card = model_card_of(run_folder, tokenizer);
  card.name = spec.name;
  made.step = loaded.step;
  made.type = request.type.value_or(format_of(loaded.weights));
  const ExportSource source{spec.model, loaded.weights, tokenizer, card};
  const ExportOptions options{.kind = request.kind, .type = made.type};
  made.weights_bytes = exported_bytes(spec.model, options);
  export_model(source, options, request.folder, cancel, progress);
  return made;
}

}  // namespace athanor
