// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenizer_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/base/json.h"

namespace athanor {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::unsupported,
              fmt::format("{} cannot be used: {}. Choose another tokenizer, or let one be trained "
                          "on your text.",
                          name, what));
}

/// "<0x0A>" → 10; −1 for any other token.
int spelled_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const std::size_t high = kDigits.find(token[3]);
  const std::size_t low = kDigits.find(token[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return -1;
  return static_cast<int>(high * 16 + low);
}

/// The same JSON in the same letters, so that a tokenizer saved and loaded is the same.
TokenizerDescription in_one_spelling(TokenizerDescription description, const std::string& name) {
  for (std::string* part : {&description.normalizer, &description.pre_tokenizer,
                            &description.post_processor, &description.decoder}) {
    *part = parse_keyed_json(*part, name).dump();
  }
  return description;
}

std::int32_t find_token(const TokenizerDescription& description, const std::string& token) {
  const auto found = std::ranges::find(description.tokens, token);
  return found == description.tokens.end()
             ? -1
             : static_cast<std::int32_t>(found - description.tokens.begin());
}

BpeModel::Parts model_parts(const TokenizerDescription& description,
                            const TokenizerPipeline& pipeline, const std::string& name) {
  BpeModel::Parts parts{.merges = description.merges,
                        .characters = !pipeline.byte_level,
                        .whole_pieces = description.whole_pieces,
                        .fuse_unknown = description.fuse_unknown};
  parts.byte_tokens.fill(-1);
  parts.tokens.resize(description.tokens.size());
  if (!description.unknown.empty()) parts.unknown = find_token(description, description.unknown);
  int bytes = 0;
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    const std::string& spelled = description.tokens[id];
    std::string& token = parts.tokens[id];
    int byte = -1;
    if (pipeline.byte_level) {
      // A token of other characters than the alphabet's is never the outcome of merging.
      if (!byte_alphabet::read(spelled, token)) token.clear();
      if (token.size() == 1) byte = static_cast<unsigned char>(token.front());
    } else {
      token = spelled;
      if (description.byte_fallback) byte = spelled_byte(spelled);
    }
    if (byte < 0) continue;
    parts.byte_tokens[static_cast<std::size_t>(byte)] = static_cast<std::int32_t>(id);
    ++bytes;
  }
  if (description.byte_fallback && bytes < 256) {
    refuse(name, fmt::format("its byte_fallback has {} of the 256 bytes", bytes));
  }
  return parts;
}

std::vector<AddedToken> added_tokens(const TokenizerDescription& description,
                                     const TokenizerPipeline& pipeline, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : description.added) {
    if (token.normalized != normalized) continue;
    if (normalized) normalize(pipeline.normalizer, token.content, TextPlace::first);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// Whether no token has a mark after another character: then words are encoded by themselves.
bool marks_begin_words(const std::vector<std::string>& tokens) {
  return std::ranges::none_of(tokens, [](std::string_view token) {
    while (token.starts_with(kSpaceMark))
      token.remove_prefix(kSpaceMark.size());
    return token.find(kSpaceMark) != std::string_view::npos;
  });
}

}  // namespace

TokenizerTables::TokenizerTables(TokenizerDescription described, const std::string& name)
    : description(in_one_spelling(std::move(described), name)),
      pipeline(read_pipeline(description, name)),
      model(model_parts(description, pipeline, name)),
      raw_tokens(added_tokens(description, pipeline, false)),
      normalized_tokens(added_tokens(description, pipeline, true)) {
  vocabulary_size = static_cast<std::int32_t>(description.tokens.size());
  for (const AddedToken& token : description.added)
    vocabulary_size = std::max(vocabulary_size, token.id + 1);
  choose_end_of_text(name);
  choose_cuts();
  write_texts();
  std::string all =
      description.normalizer + description.pre_tokenizer + description.end_of_text +
      description.unknown +
      fmt::format(" {:d}{:d}{:d} {}", description.fuse_unknown, description.byte_fallback,
                  description.whole_pieces, vocabulary_size);
  for (const std::string& token : description.tokens)
    all += fmt::format("{} {}", token.size(), token);
  for (const AddedToken& token : description.added) {
    all += fmt::format("{} {:d}{:d}{:d}{:d} {} {}", token.id, token.special, token.strips_left,
                       token.strips_right, token.normalized, token.content.size(), token.content);
  }
  for (const BpeModel::Merge& merge : description.merges)
    all += fmt::format("{} {} {} ", merge.left, merge.right, merge.result);
  fingerprint = checksum(std::as_bytes(std::span(all)));
}

void TokenizerTables::choose_end_of_text(const std::string& name) {
  const auto take = [this](std::string_view content) {
    const auto added = std::ranges::find(description.added, content, &AddedToken::content);
    if (added != description.added.end()) {
      added->special = true;
      end_of_text = added->id;
    } else if (const std::int32_t id = find_token(description, std::string(content)); id >= 0) {
      description.added.push_back({.content = std::string(content), .id = id, .special = true});
      end_of_text = id;
    } else {
      return false;
    }
    description.end_of_text = content;
    return true;
  };
  if (!description.end_of_text.empty()) {
    if (take(std::string(description.end_of_text))) return;
    refuse(name, fmt::format("its end-of-text token \"{}\" is no token",
                             description.end_of_text.substr(0, 80)));
  }
  for (const char* const usual :
       {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>"}) {
    if (take(usual)) return;
  }
  refuse(name,
         "it has no token that ends a text: none is named <|endoftext|>, <|end_of_text|>, </s>, "
         "<eos> or <|im_end|>, and no tokenizer_config.json beside it has an \"eos_token\"");
}

void TokenizerTables::choose_cuts() {
  const bool has_spaces_marked =
      std::ranges::any_of(pipeline.normalizer,
                          [](const NormalizerStep& step) {
                            return step.kind == NormalizerStep::Kind::replace && step.from == " " &&
                                   step.to == kSpaceMark;
                          }) ||
      std::ranges::any_of(pipeline.preparation, [](const NormalizerStep& step) {
        return step.kind == NormalizerStep::Kind::replace && step.from == " " &&
               step.to == kSpaceMark;
      });
  const bool can_split_words =
      pipeline.splitters.empty() && has_spaces_marked && marks_begin_words(description.tokens);
  if (can_split_words) pipeline.splitters.push_back(make_mark_splitter());
  // A token that spans a cut, or takes the white space there, would be lost.
  const bool tokens_allow = std::ranges::all_of(description.added, [](const AddedToken& token) {
    return !token.strips_left && !token.strips_right &&
           token.content.find_first_of(" \n") == std::string::npos;
  });
  const bool normalizer_allows =
      std::ranges::all_of(pipeline.normalizer, [&](const NormalizerStep& step) {
        return step.kind != NormalizerStep::Kind::replace || (can_split_words && step.from == " ");
      });
  if (!tokens_allow || !normalizer_allows) return;
  if (can_split_words) cuts = Cuts::at_spaces;
  if (pipeline.cuts_words) cuts = Cuts::at_words;
}

void TokenizerTables::write_texts() {
  std::vector<std::string> text(static_cast<std::size_t>(vocabulary_size));
  std::vector<bool> used(text.size());
  special.assign(text.size(), false);
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    const std::string& spelled = description.tokens[id];
    used[id] = !spelled.empty();
    const int byte = description.byte_fallback ? spelled_byte(spelled) : -1;
    if (byte >= 0) {
      text[id] = static_cast<char>(byte);
    } else if (pipeline.byte_level) {
      if (!byte_alphabet::read(spelled, text[id])) text[id] = spelled;
    } else {
      text[id] = spelled;
      if (pipeline.marks_are_spaces) {
        static const std::vector<NormalizerStep> to_spaces = {
            {.kind = NormalizerStep::Kind::replace, .from = std::string(kSpaceMark), .to = " "}};
        normalize(to_spaces, text[id], TextPlace::first);
      }
    }
  }
  for (const AddedToken& token : description.added) {
    const auto index = static_cast<std::size_t>(token.id);
    used[index] = true;
    special[index] = token.special;
    text[index] = token.special ? "" : token.content;
  }
  for (std::size_t id = 0; id < text.size(); ++id) {
    starts.push_back(texts.size());
    texts += text[id];
    if (!used[id]) unused.push_back(static_cast<std::int32_t>(id));
  }
  starts.push_back(texts.size());
}

}  // namespace athanor
