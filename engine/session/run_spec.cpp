// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/run_spec.h"

#include "engine/base/json.h"
#include "engine/session/preset_files.h"
#include "engine/train/train_memory.h"

namespace athanor {

namespace {
constexpr std::int64_t kFormat = 1;

template <class Settings>
void read_part(const Json& json, const char* name, Settings& settings) {
  if (const auto found = json.find(name); found != json.end()) {
    settings = settings_from_json<Settings>(*found, name);
  }
}

/// A text that older specs name.
void read_file_of_data(Json& data, std::vector<CorpusSource>& sources) {
  const auto file = data.find("file");
  if (file == data.end()) return;
  if (!file->is_string()) {
    throw Error(ErrorKind::invalid_argument, "data.file must be text in quotes.");
  }
  if (!file->get_ref<const std::string&>().empty() && sources.empty()) {
    sources.push_back({.path = file->get<std::string>()});
  }
  data.erase(file);
}

std::vector<CorpusSource> read_sources(const Json& json) {
  std::vector<CorpusSource> sources;
  const auto found = json.find("sources");
  if (found == json.end()) return sources;
  if (!found->is_array()) {
    throw Error(ErrorKind::invalid_argument, "sources must be a list in brackets [ ]; it is " +
                                                 std::string(found->type_name()) + ".");
  }
  for (const Json& each : *found) {
    sources.push_back(
        settings_from_json<CorpusSource>(each, "sources " + std::to_string(sources.size() + 1)));
  }
  return sources;
}

RunSpec read_spec(const Json& json) {
  RunSpec spec;
  std::int64_t format = 0;
  SettingsReader reader(json, "");
  reader("format", format, Bounds{kFormat, kFormat});
  reader("name", spec.name);
  reader("preset", spec.preset);
  reader("imported_from", spec.imported_from);
  reader.know("sources");
  reader.know("start");
  reader.know("fine_tuning");
  reader.know("data");
  reader.know("model");
  reader.know("train");
  reader.know("base");
  reader.refuse_unknown();
  if (format != kFormat) {
    throw Error(ErrorKind::invalid_argument, "the field \"format\": 1 is missing.");
  }
  spec.sources = read_sources(json);
  if (const auto data = json.find("data"); data != json.end()) {
    Json fields = *data;
    if (fields.is_object()) read_file_of_data(fields, spec.sources);
    spec.data = settings_from_json<DataConfig>(fields, "data");
  }
  read_part(json, "start", spec.start);
  read_part(json, "fine_tuning", spec.fine_tuning);
  read_part(json, "model", spec.model);
  read_part(json, "train", spec.train);
  read_part(json, "base", spec.base);
  return spec;
}

Preset read_preset(const PresetFile& file) {
  const Json json = parse_json(file.content, file.id);
  Preset preset{.id = file.id,
                .title = json.at("title").get<std::string>(),
                .description = json.at("description").get<std::string>(),
                .spec = run_spec_from_json(json.at("spec"), file.id)};
  preset.spec.preset = file.id;
  check_run_spec(preset.spec);
  return preset;
}
}  // namespace

RunSpec run_spec_from_json(const Json& json, const std::string& place) {
  try {
    return read_spec(json);
  } catch (const Error& error) {
    throw Error(error.kind(), place + ": " + error.message(), error.context());
  }
}

Json run_spec_to_json(const RunSpec& spec) {
  Json sources = Json::array();
  for (const CorpusSource& source : spec.sources)
    sources.push_back(settings_to_json(source));
  Json json{{"format", kFormat},
            {"name", spec.name},
            {"preset", spec.preset},
            {"imported_from", spec.imported_from},
            {"sources", sources},
            {"data", settings_to_json(spec.data)},
            {"model", settings_to_json(spec.model)},
            {"train", settings_to_json(spec.train)}};
  if (spec.start.run > 0) json["start"] = settings_to_json(spec.start);
  if (spec.fine_tuning.on()) json["fine_tuning"] = settings_to_json(spec.fine_tuning);
  if (!spec.base.checkpoint.empty()) json["base"] = settings_to_json(spec.base);
  return json;
}

void check_run_spec(const RunSpec& spec) {
  for (std::size_t i = 0; i < spec.sources.size(); ++i) {
    const std::string place = "sources " + std::to_string(i + 1);
    check_settings(spec.sources[i], place);
    check_source(spec.sources[i], place);
  }
  check_settings(spec.data, "data");
  check_settings(spec.start, "start");
  check_settings(spec.fine_tuning, "fine_tuning");
  check_training(spec.model, spec.train);
  if (!spec.fine_tuning.on()) return;
  if (spec.start.run == 0) {
    throw Error(ErrorKind::invalid_argument,
                "start.run is missing: fine-tuning begins with the weights of another run. Name "
                "one.");
  }
  if (spec.fine_tuning.records.empty()) {
    throw Error(ErrorKind::invalid_argument,
                "fine_tuning.records is missing: it names the file of conversations to train on.");
  }
}

const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> read;
    for (const PresetFile& file : preset_files())
      read.push_back(read_preset(file));
    return read;
  }();
  return all;
}

const Preset& preset(const std::string& id) {
  std::vector<std::string_view> known;
  for (const Preset& candidate : presets()) {
    if (candidate.id == id) return candidate;
    known.push_back(candidate.id);
  }
  throw Error(ErrorKind::not_found,
              "There is no preset \"" + id + "\". Choose " + choices_text(known) + ".");
}

}  // namespace athanor
