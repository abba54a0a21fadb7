// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/foreign_model.h"

#include <fmt/format.h>

#include <system_error>

#include "engine/base/error.h"
#include "engine/exchange/gguf_settings.h"
#include "engine/exchange/gguf_tokenizer.h"

namespace athanor {
namespace fs = std::filesystem;

namespace {

/// The only GGUF file of a folder; empty when there is none.
fs::path gguf_file_in(const fs::path& folder) {
  fs::path found;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    if (item->path().extension() != ".gguf") continue;
    if (!found.empty()) {
      throw Error(ErrorKind::invalid_argument,
                  folder.string() + " has several GGUF files. Choose one of them.");
    }
    found = item->path();
  }
  return found;
}

bool begins_like_gguf(const fs::path& file) {
  constexpr std::string_view kMagic = "GGUF";
  return MappedFile(file).text().starts_with(kMagic);
}

[[noreturn]] void refuse(const fs::path& path) {
  throw Error(ErrorKind::invalid_argument,
              path.string() +
                  " is no model that can be imported. Choose a GGUF file, or a Hugging Face folder "
                  "with config.json, tokenizer.json and safetensors files.");
}

}  // namespace

ForeignModel open_foreign_model(const fs::path& path, const ForeignOptions& options) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ErrorKind::not_found,
                "There is no file or folder " + path.string() + ". Choose one that exists.");
  }
  if (!fs::is_directory(path, error)) {
    if (path.extension() == ".gguf" || begins_like_gguf(path)) return open_gguf(path, options);
    const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    if (path.filename() == "config.json" || path.extension() == ".safetensors")
      return open_hugging_face(folder, options);
    refuse(path);
  }
  if (fs::exists(path / "config.json", error)) return open_hugging_face(path, options);
  const fs::path file = gguf_file_in(path);
  if (file.empty()) refuse(path);
  return open_gguf(file, options);
}

ForeignModel open_gguf(const fs::path& path, const ForeignOptions& options) {
  const GgufFile file = GgufFile::open(path);
  ForeignSettings settings = read_gguf_settings(file, options);
  Tokenizer tokenizer = read_gguf_tokenizer(file);
  StoredModel stored{
      .kind = FileKind::gguf, .path = path, .tensors = file.tensors(), .files = {file.mapping()}};
  ForeignWeights weights(std::move(stored), settings.model, settings.architecture);
  return {.settings = std::move(settings),
          .weights = std::move(weights),
          .tokenizer = std::move(tokenizer),
          .card = read_gguf_card(file)};
}

}  // namespace athanor
