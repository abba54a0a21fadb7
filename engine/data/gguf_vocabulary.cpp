// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/utf8.h"
#include "engine/data/tokenizer_description.h"
#include "engine/data/tokenizer_pipeline.h"

namespace athanor {

namespace {

enum TokenType : std::int32_t { kNormal = 1, kUnknown, kControl, kUser, kUnused, kByte };

class GgufReader {
 public:
  GgufReader(const GgufVocabulary& in, const std::string& name) : in_(in), name_(name) {}

  TokenizerDescription read() {
    check();
    if (in_.model == "gpt2") {
      byte_level();
    } else if (in_.model == "llama") {
      sentence_piece();
    } else {
      unsupported(fmt::format("its tokenizer is a \"{}\"; Athanor knows \"gpt2\" and \"llama\"",
                              in_.model.substr(0, 80)));
    }
    if (in_.end_of_text >= 0) end_of_text();
    return std::move(made_);
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::damaged, fmt::format("{} has no usable tokenizer: {}. Get the file "
                                                "again, or choose another.",
                                                name_, what));
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be used: {}. Choose another tokenizer, or let one be "
                            "trained on your text.",
                            name_, what));
  }

  std::int32_t type(std::size_t id) const { return in_.types.empty() ? kNormal : in_.types[id]; }

  void check() {
    if (in_.tokens.empty()) damaged("tokenizer.ggml.tokens is missing or empty");
    if (!in_.types.empty() && in_.types.size() != in_.tokens.size())
      damaged("tokenizer.ggml.token_type and tokens differ in length");
    if (in_.end_of_text >= static_cast<std::int32_t>(in_.tokens.size()))
      damaged("tokenizer.ggml.eos_token_id is no token");
    for (std::size_t id = 0; id < in_.tokens.size(); ++id) {
      const std::string& token = in_.tokens[id];
      if (!is_utf8(token)) damaged(fmt::format("token {} is not UTF-8", id));
      if (token.empty() && type(id) != kUnused) damaged(fmt::format("token {} is empty", id));
      if (token.size() > kLongestRankedToken_bytes && type(id) == kNormal)
        damaged(fmt::format("token {} has {} bytes", id, token.size()));
      // Spellings that stand for no text may repeat: only the first is found.
      if (!token.empty() && !ids_.emplace(token, static_cast<std::int32_t>(id)).second &&
          type(id) == kNormal) {
        damaged(fmt::format("token {} repeats an earlier one", id));
      }
    }
  }

  /// Tokens that are text become the vocabulary; what controls the model or is the user's is added.
  void sort_tokens() {
    made_.tokens.resize(in_.tokens.size());
    for (std::size_t id = 0; id < in_.tokens.size(); ++id) {
      const std::string& token = in_.tokens[id];
      const auto number = static_cast<std::int32_t>(id);
      if (ids_.find(token) == ids_.end() || ids_.at(token) != number) continue;
      switch (type(id)) {
        case kNormal:
        case kByte:
          made_.tokens[id] = token;
          break;
        case kUnknown:
          made_.tokens[id] = token;
          made_.unknown = token;
          break;
        case kControl:
          made_.added.push_back({.content = token, .id = number, .special = true});
          break;
        case kUser:
          made_.added.push_back({.content = token, .id = number});
          break;
        case kUnused:
          break;
        default:
          damaged(fmt::format("token {} is of type {}, which there is not", id, type(id)));
      }
    }
  }

  void byte_level() {
    struct Pre {
      std::string_view name;
      std::string json;
      bool whole_pieces;
    };
    const auto digits_first =
        R"({"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
        R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]})";
    const std::array known = {
        Pre{"gpt-2", pre_tokenizer_json(KnownPattern::gpt2), false},
        Pre{"llama-bpe", pre_tokenizer_json(KnownPattern::llama3), true},
        Pre{"qwen2", pre_tokenizer_json(KnownPattern::qwen2), false},
        Pre{"qwen35", pre_tokenizer_json(KnownPattern::qwen35), false},
        Pre{"gpt-4o", pre_tokenizer_json(KnownPattern::o200k), false},
        Pre{"smollm", digits_first, false},
    };
    const auto* const pre = std::ranges::find(known, in_.pre, &Pre::name);
    if (pre == known.end()) {
      unsupported(
          fmt::format("its way to cut text (tokenizer.ggml.pre) is \"{}\", which Athanor "
                      "does not know",
                      in_.pre.substr(0, 80)));
    }
    made_.pre_tokenizer = pre->json;
    made_.whole_pieces = pre->whole_pieces;
    if (pre->name.starts_with("qwen")) made_.normalizer = R"({"type":"NFC"})";
    made_.decoder = kByteLevelDecoder;
    sort_tokens();
    MergeTable seen(static_cast<std::int64_t>(in_.merges.size()));
    for (std::size_t index = 0; index < in_.merges.size(); ++index) {
      const std::string& line = in_.merges[index];
      // A token may begin with a space's own spelling but never holds a space.
      const std::size_t space = line.find(' ', 1);
      const auto id_of = [&](const std::string& token) {
        const auto found = ids_.find(token);
        if (found == ids_.end())
          damaged(fmt::format("merge {} (\"{}\") names no tokens", index, line.substr(0, 80)));
        return found->second;
      };
      if (space == std::string::npos) damaged(fmt::format("merge {} is not two tokens", index));
      const std::string left = line.substr(0, space);
      const std::string right = line.substr(space + 1);
      const BpeModel::Merge merge{id_of(left), id_of(right), id_of(left + right)};
      if (!seen.insert(merge.left, merge.right, {}))
        damaged(fmt::format("merge {} repeats an earlier one", index));
      made_.merges.push_back(merge);
    }
  }

  void sentence_piece() {
    if (in_.scores.size() != in_.tokens.size())
      damaged("tokenizer.ggml.scores and tokens differ in length");
    made_.byte_fallback = true;
    made_.fuse_unknown = true;
    const std::string prepend = in_.add_space_prefix ? R"({"type":"Prepend","prepend":"▁"},)" : "";
    made_.normalizer = R"({"type":"Sequence","normalizers":[)" + prepend +
                       R"({"type":"Replace","pattern":{"String":" "},"content":"▁"}]})";
    const std::string strip =
        in_.add_space_prefix ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "";
    made_.decoder = R"({"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},)"
                    R"("content":" "},{"type":"ByteFallback"},{"type":"Fuse"})" +
                    strip + "]}";
    sort_tokens();
    merges_of_scores();
  }

  void merges_of_scores() {
    std::vector<std::int32_t> order(in_.tokens.size());
    std::iota(order.begin(), order.end(), 0);
    for (const float score : in_.scores) {
      if (std::isnan(score)) damaged("a score is not a number");
    }
    const auto score = [this](std::int32_t id) { return in_.scores[static_cast<std::size_t>(id)]; };
    std::ranges::stable_sort(order,
                             [&](std::int32_t a, std::int32_t b) { return score(a) > score(b); });
    std::vector<std::int32_t> ranks(order.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      ranks[static_cast<std::size_t>(order[rank])] = static_cast<std::int32_t>(rank);
    // Unused tokens take part in merging and are taken apart afterwards.
    std::vector<std::string> mergeable = in_.tokens;
    for (std::size_t id = 0; id < mergeable.size(); ++id) {
      if (type(id) != kNormal && type(id) != kUnused) mergeable[id].clear();
    }
    const std::vector<TokenPair> pairs = pairs_of_ranks(mergeable, ranks, true);
    const BpeModel::Merge* last = nullptr;
    made_.merges.reserve(order.size());
    for (const std::int32_t id : order) {
      const TokenPair pair = pairs[static_cast<std::size_t>(id)];
      if (pair.left < 0 || pair.right < 0) continue;
      if (type(static_cast<std::size_t>(id)) == kUnused)
        unsupported(fmt::format("token {} is marked unused, yet merges arrive at it", id));
      if (last != nullptr && score(last->result) == score(id)) {
        unsupported(
            fmt::format("the tokens {} and {} have the same score, so which of them comes "
                        "first is left to their places in a text",
                        last->result, id));
      }
      made_.merges.push_back({pair.left, pair.right, id});
      last = &made_.merges.back();
    }
  }

  void end_of_text() {
    const std::string& content = in_.tokens[static_cast<std::size_t>(in_.end_of_text)];
    made_.end_of_text = content;
    const bool is_added = std::ranges::any_of(
        made_.added, [&](const AddedToken& token) { return token.content == content; });
    if (!is_added)
      made_.added.push_back({.content = content, .id = in_.end_of_text, .special = true});
  }

  const GgufVocabulary& in_;
  const std::string& name_;
  std::unordered_map<std::string, std::int32_t> ids_;
  TokenizerDescription made_;
};

}  // namespace

TokenizerDescription read_gguf_vocabulary(const GgufVocabulary& vocabulary,
                                          const std::string& name) {
  return GgufReader(vocabulary, name).read();
}

}  // namespace athanor
