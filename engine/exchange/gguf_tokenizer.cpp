// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer_description.h"
#include "engine/exchange/tokenizer_cutting.h"

namespace athanor {

namespace {

enum TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUser, kUnused, kByte };

std::int32_t id_or_none(const GgufFile& file, const char* key) {
  const std::int64_t id = file.integer(key).value_or(-1);
  // Some writers put all ones for "none".
  return id < 0 || id > std::int64_t{1} << 30 ? -1 : static_cast<std::int32_t>(id);
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::unsupported,
              "This model cannot be exported as GGUF: llama.cpp does not know " + what +
                  ". Export it as a Hugging Face folder.");
}

/// llama.cpp applies none; composed characters are what nearly every text has.
void check_normalizer(const TokenizerDescription& description) {
  const KeyedJson normalizer = parse_keyed_json(description.normalizer, "the tokenizer");
  if (normalizer.is_null() || normalizer == KeyedJson{{"type", "NFC"}}) return;
  refuse("its tokenizer's normalizer");
}

/// For SentencePiece, where llama.cpp merges by the highest score.
std::vector<float> scores_of(const TokenizerDescription& description, std::size_t count) {
  // Where no merge arrives, none must be preferred.
  std::vector<float> scores(count, -1e9F);
  for (std::size_t rank = description.merges.size(); rank-- > 0;) {
    scores[static_cast<std::size_t>(description.merges[rank].result)] = -static_cast<float>(rank);
  }
  return scores;
}

bool puts_space_first(const TokenizerDescription& description) {
  return description.normalizer.find("\"Prepend\"") != std::string::npos;
}

/// What stands for every id of the model.
struct TokenList {
  std::vector<std::string> spellings;
  std::vector<std::int32_t> types;
};

TokenList list_tokens(const TokenizerDescription& description, std::size_t count) {
  TokenList list;
  list.types.assign(count, kUnused);
  for (std::size_t id = 0; id < count; ++id)
    list.spellings.push_back(fmt::format("[PAD{}]", id));
  const auto enter = [&](std::size_t id, const std::string& spelling, TokenType type) {
    if (id >= count) return;
    list.spellings[id] = spelling;
    list.types[id] = type;
  };
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    const std::string& token = description.tokens[id];
    if (token.empty()) continue;
    const bool byte = description.byte_fallback && token.size() == 6 && token.starts_with("<0x") &&
                      token.ends_with('>');
    enter(id, token, byte ? kByte : token == description.unknown ? kUnknown : kNormal);
  }
  for (const AddedToken& token : description.added) {
    const bool unknown = token.content == description.unknown;
    enter(static_cast<std::size_t>(token.id), token.content,
          unknown         ? kUnknown
          : token.special ? kControl
                          : kUser);
  }
  return list;
}

}  // namespace

Tokenizer read_gguf_tokenizer(const GgufFile& file) {
  const std::string name = file.path().string();
  const auto list = [&](auto values) {
    return values ? std::move(*values) : typename decltype(values)::value_type{};
  };
  GgufVocabulary vocabulary{
      .model = file.text("tokenizer.ggml.model").value_or(""),
      .pre = file.text("tokenizer.ggml.pre").value_or("default"),
      .tokens = list(file.texts("tokenizer.ggml.tokens")),
      .scores = list(file.reals("tokenizer.ggml.scores")),
      .types = list(file.integers("tokenizer.ggml.token_type")),
      .merges = list(file.texts("tokenizer.ggml.merges")),
      .end_of_text = id_or_none(file, "tokenizer.ggml.eos_token_id"),
      .unknown = id_or_none(file, "tokenizer.ggml.unknown_token_id"),
      .add_space_prefix = file.boolean("tokenizer.ggml.add_space_prefix").value_or(true)};
  return Tokenizer(read_gguf_vocabulary(vocabulary, name), name);
}

ModelCard read_gguf_card(const GgufFile& file) {
  ModelCard card{.name = file.text("general.name").value_or(file.path().stem().string()),
                 .chat_template = file.text("tokenizer.chat_template").value_or("")};
  const bool usually = file.text("tokenizer.ggml.model").value_or("") == "llama";
  if (file.boolean("tokenizer.ggml.add_bos_token").value_or(usually))
    card.begin_of_text = id_or_none(file, "tokenizer.ggml.bos_token_id");
  return card;
}

void add_gguf_tokenizer(GgufMetadata& metadata, const Tokenizer& tokenizer, std::int64_t vocabulary,
                        const ModelCard& card) {
  const TokenizerDescription& description = tokenizer.description();
  const auto count = static_cast<std::size_t>(vocabulary);
  const TokenList list = list_tokens(description, count);
  const std::string prefix = "tokenizer.ggml.";
  if (description.byte_fallback) {
    metadata.add(prefix + "model", "llama");
    metadata.add(prefix + "pre", "default");
    metadata.add(prefix + "add_space_prefix", puts_space_first(description));
    metadata.add(prefix + "scores", scores_of(description, count));
  } else {
    const std::string name = cutting_name(description);
    if (name.empty()) refuse("how its tokenizer cuts texts");
    check_normalizer(description);
    std::vector<std::string> merges;
    merges.reserve(description.merges.size());
    for (const BpeModel::Merge& merge : description.merges) {
      merges.push_back(description.tokens[static_cast<std::size_t>(merge.left)] + " " +
                       description.tokens[static_cast<std::size_t>(merge.right)]);
    }
    metadata.add(prefix + "model", "gpt2");
    metadata.add(prefix + "pre", std::string_view(name));
    metadata.add(prefix + "add_space_prefix", false);
    metadata.add(prefix + "merges", merges);
  }
  metadata.add(prefix + "tokens", list.spellings);
  metadata.add(prefix + "token_type", list.types);
  metadata.add(prefix + "eos_token_id", static_cast<std::uint32_t>(tokenizer.end_of_text()));
  metadata.add(prefix + "add_bos_token", card.begin_of_text >= 0);
  if (card.begin_of_text >= 0)
    metadata.add(prefix + "bos_token_id", static_cast<std::uint32_t>(card.begin_of_text));
  if (!card.chat_template.empty())
    metadata.add("tokenizer.chat_template", std::string_view(card.chat_template));
}

}  // namespace athanor
