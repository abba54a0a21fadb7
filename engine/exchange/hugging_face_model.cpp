// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <map>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer_description.h"
#include "engine/exchange/foreign_model.h"
#include "engine/exchange/hugging_face_config.h"
#include "engine/io/safetensors_header.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

constexpr const char* kOneFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::optional<NumberFormat> format_of(const std::string& type) {
  if (type == "F32") return NumberFormat::f32;
  if (type == "F16") return NumberFormat::f16;
  if (type == "BF16") return NumberFormat::bf16;
  return {};
}

void add_file(StoredModel& stored, const fs::path& path) {
  auto file = std::make_shared<const MappedFile>(path);
  for (SafetensorsEntry& entry : read_safetensors_header(path, file->bytes()).entries) {
    const std::optional<NumberFormat> format = format_of(entry.type);
    stored.tensors.push_back({.name = std::move(entry.name),
                              .type = std::move(entry.type),
                              .format = format,
                              .shape = entry.shape,
                              .data = entry.data});
  }
  stored.files.push_back(std::move(file));
}

[[noreturn]] void damaged(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::damaged, fmt::format("{} is not a usable index: {}. Get the model again.",
                                              file.string(), what));
}

/// The files that the index names, once each, with how many tensors it says are in each.
std::map<std::string, std::size_t> indexed_files(const fs::path& index) {
  const KeyedJson json = parse_keyed_json(read_small_file(index), index.string());
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (!json.is_object() || map == json.end() || !map->is_object())
    damaged(index, "weight_map is missing");
  std::map<std::string, std::size_t> files;
  for (const auto& [tensor, file] : map->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : std::string();
    // Beside the index and nowhere else.
    if (name.empty() || fs::path(name).filename() != name || name == "..")
      damaged(index,
              fmt::format("weight_map.{} names no file of the folder", tensor.substr(0, 80)));
    ++files[name];
  }
  return files;
}

StoredModel read_stored(const fs::path& folder) {
  StoredModel stored{.kind = FileKind::hugging_face, .path = folder, .tensors = {}, .files = {}};
  if (is_there(folder / kIndex)) {
    for (const auto& [name, tensors] : indexed_files(folder / kIndex)) {
      const std::size_t before = stored.tensors.size();
      add_file(stored, folder / name);
      if (stored.tensors.size() - before != tensors) {
        damaged(folder / kIndex, fmt::format("it says that {} has {} tensors, and it has {}", name,
                                             tensors, stored.tensors.size() - before));
      }
    }
    return stored;
  }
  if (is_there(folder / kOneFile)) {
    add_file(stored, folder / kOneFile);
    return stored;
  }
  const bool pickled = is_there(folder / "pytorch_model.bin");
  throw Error(
      pickled ? ErrorKind::unsupported : ErrorKind::not_found,
      fmt::format("{} has no {}{}. Get the model as safetensors.", folder.string(), kOneFile,
                  pickled ? ", only pytorch_model.bin, which may hold programs and is not "
                            "read"
                          : ""));
}

/// The token that the post-processor puts before a text, as an id; -1 when none.
std::int32_t begin_of_text(const Tokenizer& tokenizer) {
  const KeyedJson json = parse_keyed_json(tokenizer.description().post_processor, "tokenizer.json");
  std::vector<KeyedJson> processors{json};
  if (json.is_object() && json.contains("processors") && json["processors"].is_array())
    processors = json["processors"].get<std::vector<KeyedJson>>();
  for (const KeyedJson& processor : processors) {
    if (!processor.is_object() || processor.value("type", KeyedJson()) != "TemplateProcessing" ||
        !processor.contains("single") || !processor["single"].is_array() ||
        processor["single"].empty()) {
      continue;
    }
    const KeyedJson& first = processor["single"][0];
    if (!first.is_object() || !first.contains("SpecialToken")) continue;
    const KeyedJson& token = first["SpecialToken"];
    if (!token.is_object() || !token.contains("id") || !token["id"].is_string()) continue;
    for (const AddedToken& added : tokenizer.description().added) {
      if (added.content == token["id"].get<std::string>()) return added.id;
    }
  }
  return -1;
}

/// "chat_template" of tokenizer_config.json, or the file of its own that newer models have.
std::string chat_template(const fs::path& folder) {
  const fs::path own = folder / "chat_template.jinja";
  if (is_there(own)) return read_small_file(own, kLargestTokenizer_bytes);
  const fs::path config = folder / "tokenizer_config.json";
  if (!is_there(config)) return {};
  const KeyedJson json = parse_keyed_json(read_small_file(config), config.string());
  const auto found = json.is_object() ? json.find("chat_template") : json.end();
  if (!json.is_object() || found == json.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return {};
  // Several, each with a name.
  for (const KeyedJson& one : *found) {
    if (one.is_object() && one.value("name", KeyedJson()) == "default" &&
        one.value("template", KeyedJson()).is_string()) {
      return one["template"].get<std::string>();
    }
  }
  return {};
}

std::string folder_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

}  // namespace

ForeignModel open_hugging_face(const fs::path& folder, const ForeignOptions& options) {
  const fs::path config = folder / "config.json";
  ForeignSettings settings = read_hugging_face_config(
      parse_keyed_json(read_small_file(config), config.string()), options, config.string());
  ForeignWeights weights(read_stored(folder), settings.model, settings.architecture);
  Tokenizer tokenizer = Tokenizer::load(folder);
  ModelCard card{.name = folder_name(folder),
                 .chat_template = chat_template(folder),
                 .begin_of_text = begin_of_text(tokenizer)};
  return {.settings = std::move(settings),
          .weights = std::move(weights),
          .tokenizer = std::move(tokenizer),
          .card = std::move(card)};
}

}  // namespace athanor
