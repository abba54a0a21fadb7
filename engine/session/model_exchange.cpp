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
#include "engine/session/finished_run.h"
#include "engine/session/run_checkpoint.h"
#include "engine/session/run_weights.h"
#include "engine/tensor/bf16.h"
#include "engine/train/trainer.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

constexpr int kOriginFormat = 1;
constexpr const char* kOrigin = "origin.json";

NumberFormat format_of(DType weights) {
  return weights == DType::bf16 ? NumberFormat::bf16 : NumberFormat::f32;
}

std::string text_for_people(const std::string& text) {
  constexpr std::size_t kMost = 200;
  const std::string shown = is_utf8(text) ? text : std::string();
  return shown.substr(0, next_character_start(shown, std::min(kMost, shown.size())));
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
  RunSpec spec;
  spec.name = options.name.empty() ? text_for_people(foreign.card.name) : options.name;
  spec.imported_from = fs::absolute(path).lexically_normal().string();
  spec.model = foreign.settings.model;
  if (spec.name.empty()) spec.name = "Imported model";
  FinishedRun run(home);
  write_first_checkpoint(run.folder(), foreign.weights.parameters(), foreign.weights,
                         train_state_to_json(TrainState()), "Importing the model", cancel,
                         progress);
  foreign.tokenizer.save(run.folder() / "tokenizer.json");
  write_model_card(run.folder(), foreign.card, path.string());
  cancel.throw_if_requested();
  return {.record = run.commit(spec, foreign.weights.parameters().count(), "imported",
                               "From " + spec.imported_from),
          .architecture = foreign.settings.architecture,
          .weights = foreign.weights.type(),
          .notices = foreign.settings.notices};
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
  const SafetensorsFile weights = SafetensorsFile::open(checkpoint / "weights.safetensors");
  return format_of(CheckpointWeights::type_in(weights));
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
  const RunWeights from = RunWeights::open(run_folder, request.step, made.notice);
  const RunSpec& spec = from.spec();
  const Tokenizer tokenizer = Tokenizer::load(run_folder / "tokenizer.json");
  ModelCard card = model_card_of(run_folder, tokenizer);
  card.name = spec.name;
  const WeightSource& weights = from.source();
  made.step = from.step();
  made.type = request.type.value_or(format_of(weights.type()));
  const ExportSource source{spec.model, weights, tokenizer, card};
  const ExportOptions options{.kind = request.kind, .type = made.type};
  made.weights_bytes = exported_bytes(spec.model, options);
  export_model(source, options, request.folder, cancel, progress);
  return made;
}

}  // namespace athanor
