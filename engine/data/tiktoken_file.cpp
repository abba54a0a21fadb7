// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/settings.h"
#include "engine/data/tokenizer_description.h"
#include "engine/data/tokenizer_pipeline.h"

namespace athanor {

namespace {

struct Special {
  std::string_view content;
  std::int32_t id;
};

/// tiktoken_ext/openai_public.py and the models' own files.
struct Encoding {
  std::string_view name;
  KnownPattern pattern;
  std::int32_t ranks;  ///< how many its file has; 0: no file that is known by that
  std::vector<Special> specials;
};

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> known = {
      {"gpt2", KnownPattern::gpt2, 0, {}},
      {"r50k", KnownPattern::gpt2, 50'256, {{"<|endoftext|>", 50'256}}},
      {"p50k", KnownPattern::gpt2, 50'280, {{"<|endoftext|>", 50'256}}},
      {"cl100k",
       KnownPattern::cl100k,
       100'256,
       {{"<|endoftext|>", 100'257},
        {"<|fim_prefix|>", 100'258},
        {"<|fim_middle|>", 100'259},
        {"<|fim_suffix|>", 100'260},
        {"<|endofprompt|>", 100'276}}},
      {"o200k",
       KnownPattern::o200k,
       199'998,
       {{"<|endoftext|>", 199'999}, {"<|endofprompt|>", 200'018}}},
      {"llama3", KnownPattern::llama3, 0, {}},
      {"qwen2", KnownPattern::qwen2, 0, {}},
      {"qwen3.5", KnownPattern::qwen35, 0, {}}};
  return known;
}

class RankReader {
 public:
  RankReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  /// By rank; empty where there is none.
  std::vector<std::string> read() {
    const std::int64_t most =
        most_ids(static_cast<std::size_t>(std::ranges::count(text_, '\n')) + 1);
    for (std::size_t at = 0; at < text_.size();) {
      ++line_;
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      std::string_view line = text_.substr(at, end - at);
      at = end + 1;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) add(line, most);
    }
    if (tokens_.empty()) damaged("has no tokens");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::damaged,
                fmt::format("{}, line {}, {}. Each line must be a token in base64, a space and its "
                            "rank. Get the file again, or choose another tokenizer.",
                            name_, line_, what));
  }

  void add(std::string_view line, std::int64_t most) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) damaged("has no rank");
    const std::string bytes = decoded(line.substr(0, space));
    const std::string_view digits = line.substr(space + 1);
    std::int32_t rank = -1;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (error != std::errc() || rest != digits.data() + digits.size() || rank < 0)
      damaged("has no whole number as its rank");
    if (rank >= most) damaged(fmt::format("has the rank {}, far more than there are lines", rank));
    if (bytes.empty()) damaged("has an empty token");
    if (bytes.size() > kLongestRankedToken_bytes)
      damaged(fmt::format("has a token of {} bytes", bytes.size()));
    const auto index = static_cast<std::size_t>(rank);
    if (index >= tokens_.size()) tokens_.resize(index + 1);
    if (!tokens_[index].empty()) damaged(fmt::format("repeats the rank {}", rank));
    tokens_[index] = bytes;
  }

  std::string decoded(std::string_view base64) const {
    if (base64.size() % 4 != 0) damaged("has a token that is not base64");
    const std::size_t padding = base64.ends_with("==") ? 2 : base64.ends_with('=') ? 1 : 0;
    std::string bytes;
    std::uint32_t word = 0;
    for (std::size_t at = 0; at < base64.size(); ++at) {
      const bool is_padding = at + padding >= base64.size();
      word = word << 6 | (is_padding ? 0 : sextet(base64[at]));
      if (at % 4 != 3) continue;
      for (const int shift : {16, 8, 0})
        bytes.push_back(static_cast<char>(word >> shift & 0xFF));
      word = 0;
    }
    bytes.resize(bytes.size() - padding);
    return bytes;
  }

  std::uint32_t sextet(char digit) const {
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t value = kDigits.find(digit);
    if (value == std::string_view::npos) damaged("has a token that is not base64");
    return static_cast<std::uint32_t>(value);
  }

  std::string_view text_;
  const std::string& name_;
  std::vector<std::string> tokens_;
  std::size_t line_ = 0;
};

const Encoding& chosen_encoding(const std::string& pattern, std::int32_t ranks,
                                const std::string& name) {
  for (const Encoding& encoding : encodings()) {
    if (pattern.empty() ? encoding.ranks == ranks : encoding.name == pattern) {
      return encoding;
    }
  }
  const std::string choices = choices_text(tiktoken_patterns());
  if (pattern.empty()) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} does not say by which pattern it cuts text, and its {} tokens are "
                            "not those of a known encoding. Say which: {}.",
                            name, ranks, choices));
  }
  throw Error(ErrorKind::invalid_argument,
              fmt::format("There is no pattern \"{}\". Choose {}.", pattern, choices));
}

void check_unique(std::vector<std::string> tokens, const std::string& name) {
  std::erase(tokens, "");
  std::ranges::sort(tokens);
  if (std::ranges::adjacent_find(tokens) == tokens.end()) return;
  throw Error(ErrorKind::damaged, name +
                                      " has a token twice. Get the file again, or choose "
                                      "another tokenizer.");
}

void check_bytes(const std::vector<std::string>& tokens, const std::string& name) {
  const auto bytes =
      std::ranges::count_if(tokens, [](const std::string& token) { return token.size() == 1; });
  if (bytes == 256) return;
  throw Error(ErrorKind::damaged,
              fmt::format("{} has {} of the 256 single bytes, so there are texts it cannot encode. "
                          "Get the file again, or choose another tokenizer.",
                          name, bytes));
}

}  // namespace

const std::vector<std::string_view>& tiktoken_patterns() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> made;
    for (const Encoding& encoding : encodings())
      made.push_back(encoding.name);
    return made;
  }();
  return names;
}

TokenizerDescription read_tiktoken(std::string_view text, const std::string& name,
                                   const std::string& pattern) {
  const std::vector<std::string> tokens = RankReader(text, name).read();
  check_bytes(tokens, name);
  check_unique(tokens, name);
  const auto count = static_cast<std::int32_t>(
      std::ranges::count_if(tokens, [](const std::string& token) { return !token.empty(); }));
  const Encoding& encoding = chosen_encoding(pattern, count, name);
  std::vector<std::int32_t> ranks(tokens.size());
  TokenizerDescription made{.whole_pieces = true, .end_of_text = "<|endoftext|>"};
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    ranks[id] = static_cast<std::int32_t>(id);
    made.tokens.push_back(byte_alphabet::spelled(tokens[id]));
  }
  const std::vector<TokenPair> pairs = pairs_of_ranks(tokens, ranks, false);
  for (std::size_t id = 0; id < pairs.size(); ++id) {
    if (pairs[id].left >= 0) made.merges.push_back({pairs[id].left, pairs[id].right, ranks[id]});
  }
  if (encoding.ranks == count) {
    for (const Special& special : encoding.specials) {
      made.added.push_back(
          {.content = std::string(special.content), .id = special.id, .special = true});
    }
  } else {
    made.added.push_back({.content = made.end_of_text,
                          .id = static_cast<std::int32_t>(tokens.size()),
                          .special = true});
  }
  made.pre_tokenizer = pre_tokenizer_json(encoding.pattern);
  made.decoder = kByteLevelDecoder;
  return made;
}

}  // namespace athanor
