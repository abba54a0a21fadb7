// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <array>
#include <optional>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer.h"
#include "engine/data/tokenizer_description.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kFirstFormat = 1;

[[noreturn]] void damaged(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::damaged, name + " is not a usable tokenizer: " + what +
                                      ". Make the tokenizer again from its text.");
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// {"format": 1, "kind": "byte-bpe", "merges": [[left, right], …]}
Tokenizer read_first_format(const KeyedJson& json, const std::string& name) {
  if (json["format"] != kFirstFormat)
    damaged(name, fmt::format("\"format\" must be {}", kFirstFormat));
  if (json.value("kind", KeyedJson()) != "byte-bpe") damaged(name, "\"kind\" must be \"byte-bpe\"");
  const auto found = json.find("merges");
  if (found == json.end() || !found->is_array()) damaged(name, "\"merges\" must be a list");
  std::vector<Tokenizer::Merge> merges;
  merges.reserve(found->size());
  const auto is_id = [](const KeyedJson& value) {
    return value.is_number_integer() && value >= 0 && value < std::int64_t{1} << 31;
  };
  for (const KeyedJson& entry : *found) {
    if (!entry.is_array() || entry.size() != 2 || !is_id(entry[0]) || !is_id(entry[1]))
      damaged(name, fmt::format("merges[{}] must be two token numbers", merges.size()));
    merges.push_back({entry[0].get<std::int32_t>(), entry[1].get<std::int32_t>()});
  }
  try {
    return Tokenizer(std::move(merges));
  } catch (const Error& error) {
    throw Error(ErrorKind::damaged, name + ": " + error.message());
  }
}

/// The token that tokenizer_config.json names as "eos_token"; empty when it names none.
std::string configured_end_of_text(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  if (!is_there(path)) return {};
  const KeyedJson config = parse_keyed_json(read_small_file(path), path.string());
  if (!config.is_object() || !config.contains("eos_token")) return {};
  const KeyedJson& token = config["eos_token"];
  const KeyedJson* const content =
      token.is_object() && token.contains("content") ? &token["content"] : &token;
  if (content->is_null()) return {};
  if (!content->is_string()) damaged(path.string(), "\"eos_token\" must be a text");
  return content->get<std::string>();
}

struct Gpt2Names {
  std::string_view encoder;
  std::string_view merges;
};
constexpr std::array kGpt2_names = {Gpt2Names{"encoder.json", "vocab.bpe"},
                                    Gpt2Names{"vocab.json", "merges.txt"}};

/// The two files of which `path` is one, if their names end in the usual way.
std::optional<std::pair<fs::path, fs::path>> gpt2_files(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const Gpt2Names& names : kGpt2_names) {
    for (const std::string_view end : {names.encoder, names.merges}) {
      if (!name.ends_with(end)) continue;
      const std::string start = name.substr(0, name.size() - end.size());
      const fs::path folder = path.parent_path();
      return std::pair{folder / (start + std::string(names.encoder)),
                       folder / (start + std::string(names.merges))};
    }
  }
  return {};
}

/// What in a folder is the tokenizer.
fs::path file_in(const fs::path& folder) {
  for (const char* const name : {"tokenizer.json", "encoder.json", "vocab.json"}) {
    if (is_there(folder / name)) return folder / name;
  }
  fs::path found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".tiktoken") continue;
    if (!found.empty()) {
      throw Error(ErrorKind::invalid_argument,
                  folder.string() + " has several tiktoken files. Choose one of them.");
    }
    found = entry.path();
  }
  if (!found.empty()) return found;
  throw Error(ErrorKind::not_found,
              folder.string() +
                  " has no tokenizer: no tokenizer.json, encoder.json with vocab.bpe, "
                  "vocab.json with merges.txt, or .tiktoken file. Choose another "
                  "folder, or a file.");
}

TokenizerDescription read_pair(const std::pair<fs::path, fs::path>& files) {
  const auto& [encoder, merges] = files;
  for (const fs::path& file : {encoder, merges}) {
    if (is_there(file)) continue;
    throw Error(
        ErrorKind::not_found,
        fmt::format("{} is missing: GPT-2's tokenizer is two files, {} and {}. Put both into "
                    "one folder.",
                    file.string(), encoder.filename().string(), merges.filename().string()));
  }
  return read_gpt2_files(read_small_file(encoder, kLargestTokenizer_bytes), encoder.string(),
                         read_small_file(merges, kLargestTokenizer_bytes), merges.string());
}

}  // namespace

Tokenizer Tokenizer::load(const fs::path& path, const std::string& pattern) {
  std::error_code error;
  const fs::path file = fs::is_directory(path, error) ? file_in(path) : path;
  const std::string name = file.string();
  const std::string end_of_text = configured_end_of_text(file.parent_path());
  const auto finished = [&](TokenizerDescription description) {
    if (!end_of_text.empty()) description.end_of_text = end_of_text;
    return Tokenizer(std::move(description), name);
  };
  if (const auto files = gpt2_files(file)) return finished(read_pair(*files));
  const std::string text = read_small_file(file, kLargestTokenizer_bytes);
  if (file.extension() != ".json" && !text.starts_with('{'))
    return finished(read_tiktoken(text, name, pattern));
  const KeyedJson json = parse_keyed_json(text, name);
  if (json.is_object() && json.contains("format")) return read_first_format(json, name);
  return finished(read_tokenizer_json(json, name));
}

void Tokenizer::save(const fs::path& path) const {
  write_file_atomically(path, tokenizer_json(description()));
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"eos_token", description().end_of_text}};
  write_file_atomically(path.parent_path() / "tokenizer_config.json", config.dump(2) + "\n");
}

}  // namespace athanor
