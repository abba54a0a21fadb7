// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <unordered_map>

#include "engine/base/json.h"
#include "engine/data/tokenizer_description.h"
#include "engine/exchange/export_parts.h"
#include "engine/exchange/hugging_face_config.h"
#include "engine/exchange/tokenizer_cutting.h"

namespace athanor {

namespace {

/// The content of the added token `id`.
std::string content_of(const Tokenizer& tokenizer, std::int32_t id) {
  for (const AddedToken& token : tokenizer.description().added) {
    if (token.id == id) return token.content;
  }
  return {};
}

/// What puts a token before every text, where the tokenizer itself has nothing of the kind.
std::string begin_template(const std::string& token, std::int32_t id) {
  const Json begin{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
  const auto sequence = [](const char* name, int type) {
    return Json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  Json second = begin;
  second["SpecialToken"]["type_id"] = 1;
  return Json{{"type", "TemplateProcessing"},
              {"single", {begin, sequence("A", 0)}},
              {"pair", {begin, sequence("A", 0), second, sequence("B", 1)}},
              {"special_tokens", {{token, {{"id", token}, {"ids", {id}}, {"tokens", {token}}}}}}}
      .dump();
}

/// Transformers 5 cuts texts as Qwen's models do wherever the model is one of theirs, whatever
/// tokenizer.json says, unless another class is named.
const char* tokenizer_class(const TokenizerDescription& description, Architecture architecture) {
  const bool qwen = architecture == Architecture::qwen2 || architecture == Architecture::qwen3;
  const bool gpt2 = !description.byte_fallback && cutting_name(description) == "gpt-2";
  return qwen && gpt2 ? "GPT2Tokenizer" : "PreTrainedTokenizerFast";
}

void write_tokenizer(const ExportSource& source, Architecture architecture,
                     const std::filesystem::path& folder) {
  const std::int32_t begin = source.card.begin_of_text;
  const std::string begin_token = begin < 0 ? std::string() : content_of(source.tokenizer, begin);
  TokenizerDescription description = source.tokenizer.description();
  const bool has_none = description.post_processor == "null" ||
                        description.post_processor.find("TemplateProcessing") == std::string::npos;
  if (!begin_token.empty() && has_none)
    description.post_processor = begin_template(begin_token, begin);
  write_file_atomically(folder / "tokenizer.json", tokenizer_json(description));
  Json config{{"tokenizer_class", tokenizer_class(description, architecture)},
              {"eos_token", content_of(source.tokenizer, source.tokenizer.end_of_text())},
              {"model_max_length", source.model.context},
              {"clean_up_tokenization_spaces", false}};
  if (!begin_token.empty()) config["bos_token"] = begin_token;
  if (!description.unknown.empty()) config["unk_token"] = description.unknown;
  if (!source.card.chat_template.empty()) config["chat_template"] = source.card.chat_template;
  write_file_atomically(folder / "tokenizer_config.json", config.dump(2) + "\n");
}

}  // namespace

void write_hugging_face(const ExportSource& source, const ExportList& list, NumberFormat type,
                        const std::filesystem::path& folder, ExportMeter& meter) {
  const DType dtype = type == NumberFormat::bf16 ? DType::bf16 : DType::f32;
  std::vector<NamedTensor> entries;
  std::unordered_map<std::string, const ForeignTensor*> by_name;
  for (const ForeignTensor& tensor : list.tensors()) {
    entries.push_back({tensor.name, {nullptr, dtype, tensor.shape}});
    by_name.emplace(tensor.name, &tensor);
  }
  std::vector<float> numbers;
  write_safetensors(folder / "model.safetensors", entries, {{"format", "pt"}},
                    [&](const NamedTensor& entry, std::int64_t first, std::span<std::byte> to) {
                      numbers.resize(to.size() / static_cast<std::size_t>(size_of(dtype)));
                      list.read(*by_name.at(entry.name), first, numbers);
                      store(type, numbers, to, entry.name);
                      meter.add(static_cast<std::int64_t>(to.size()));
                    });
  const std::int32_t end = source.tokenizer.end_of_text();
  const std::int32_t begin = source.card.begin_of_text;
  const Json config = hugging_face_config(source.model, list.architecture(), dtype, end, begin);
  write_file_atomically(folder / "config.json", config.dump(2) + "\n");
  const Json generation{{"bos_token_id", config.at("bos_token_id")}, {"eos_token_id", end}};
  write_file_atomically(folder / "generation_config.json", generation.dump(2) + "\n");
  write_tokenizer(source, list.architecture(), folder);
}

}  // namespace athanor
