// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <limits>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer_description.h"

namespace athanor {

namespace {

class JsonReader {
 public:
  JsonReader(const KeyedJson& file, const std::string& name) : file_(file), name_(name) {}

  TokenizerDescription read() {
    if (!file_.is_object()) damaged("it", "is not a JSON object");
    const KeyedJson& model = object("model");
    check_model(model);
    vocabulary(model);
    added_tokens();
    merges(model);
    unknown(model);
    made_.fuse_unknown = flag(model, "fuse_unk", "model.");
    made_.byte_fallback = flag(model, "byte_fallback", "model.");
    made_.whole_pieces = flag(model, "ignore_merges", "model.");
    made_.normalizer = part("normalizer");
    made_.pre_tokenizer = part("pre_tokenizer");
    made_.post_processor = part("post_processor");
    made_.decoder = part("decoder");
    return std::move(made_);
  }

 private:
  [[noreturn]] void damaged(const std::string& place, const std::string& what) const {
    throw Error(ErrorKind::damaged,
                fmt::format("{} is not a usable tokenizer: {} {}. Get the file again, or choose "
                            "another tokenizer.",
                            name_, place, what));
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(ErrorKind::unsupported,
                fmt::format("{} cannot be used: {}. Choose another tokenizer, or let one be "
                            "trained on your text.",
                            name_, what));
  }

  static const KeyedJson* field(const KeyedJson& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }

  const KeyedJson& object(const char* name) const {
    const KeyedJson* const found = field(file_, name);
    if (found == nullptr || !found->is_object())
      damaged(fmt::format("\"{}\"", name), "must be an object");
    return *found;
  }

  bool flag(const KeyedJson& object, const char* name, const std::string& place) const {
    const KeyedJson* const found = field(object, name);
    if (found == nullptr) return false;
    if (!found->is_boolean()) damaged(place + name, "must be true or false");
    return found->get<bool>();
  }

  std::string part(const char* name) const {
    const KeyedJson* const found = field(file_, name);
    return found == nullptr ? "null" : found->dump();
  }

  void check_model(const KeyedJson& model) const {
    // The oldest files have no type; only byte-pair encoding has merges.
    const KeyedJson* const type = field(model, "type");
    if (type != nullptr ? *type != "BPE" : !model.contains("merges")) {
      unsupported(fmt::format(
          "its model is \"{}\", and Athanor knows byte-pair encoding (BPE) only",
          type != nullptr && type->is_string() ? type->get_ref<const std::string&>().substr(0, 80)
                                               : std::string("of no known type")));
    }
    for (const char* const affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const KeyedJson* const found = field(model, affix);
      if (found != nullptr && *found != "") unsupported(fmt::format("model.{} is set", affix));
    }
    const KeyedJson* const dropout = field(model, "dropout");
    if (dropout != nullptr && *dropout != 0)
      unsupported("model.dropout is set, which makes tokens differ from time to time");
    if (field(file_, "truncation") != nullptr)
      unsupported("it cuts texts off (\"truncation\"); set that to null");
  }

  std::int32_t id(const KeyedJson& value, const std::string& place, std::int64_t most) const {
    if (!value.is_number_integer() || value < 0) damaged(place, "must be a token's number");
    if (value >= most) {
      damaged(place, fmt::format("is {}, far more than the tokens there are", value.dump()));
    }
    return value.get<std::int32_t>();
  }

  void vocabulary(const KeyedJson& model) {
    const KeyedJson* const found = field(model, "vocab");
    if (found == nullptr || !found->is_object()) damaged("model.vocab", "must be an object");
    const std::int64_t most = most_ids(found->size());
    ids_.reserve(found->size());
    for (const auto& [token, value] : found->items()) {
      if (token.empty()) damaged("model.vocab", "has a token without a spelling");
      const std::int32_t number =
          id(value, fmt::format("model.vocab.\"{}\"", token.substr(0, 80)), most);
      const auto index = static_cast<std::size_t>(number);
      if (index >= made_.tokens.size()) made_.tokens.resize(index + 1);
      if (!made_.tokens[index].empty()) {
        damaged("model.vocab", fmt::format("gives the number {} to both \"{}\" and \"{}\"", number,
                                           made_.tokens[index].substr(0, 80), token.substr(0, 80)));
      }
      made_.tokens[index] = token;
      ids_.emplace(token, number);
    }
  }

  void added_tokens() {
    const KeyedJson* const found = field(file_, "added_tokens");
    if (found == nullptr) return;
    if (!found->is_array()) damaged("added_tokens", "must be a list");
    const std::int64_t most = most_ids(ids_.size() + found->size());
    for (std::size_t index = 0; index < found->size(); ++index) {
      const std::string place = fmt::format("added_tokens[{}]", index);
      const KeyedJson& entry = (*found)[index];
      const KeyedJson* const content = entry.is_object() ? field(entry, "content") : nullptr;
      if (content == nullptr || !content->is_string() || *content == "" || !entry.contains("id"))
        damaged(place, "must have a \"content\" and an \"id\"");
      AddedToken token{.content = content->get<std::string>(),
                       .id = id(entry["id"], place + ".id", most),
                       .special = flag(entry, "special", place + "."),
                       .strips_left = flag(entry, "lstrip", place + "."),
                       .strips_right = flag(entry, "rstrip", place + "."),
                       .normalized = flag(entry, "normalized", place + ".")};
      if (flag(entry, "single_word", place + "."))
        unsupported(place + " is to be found as a single word only");
      const auto known = ids_.find(token.content);
      const auto index_in_vocabulary = static_cast<std::size_t>(token.id);
      const bool is_taken =
          index_in_vocabulary < made_.tokens.size() && !made_.tokens[index_in_vocabulary].empty();
      if (known != ids_.end() ? known->second != token.id : is_taken) {
        damaged(place, "gives a number that another token has, or a token that has another number");
      }
      made_.added.push_back(std::move(token));
    }
  }

  std::int32_t known(std::string_view token, const std::string& place) const {
    const auto found = ids_.find(std::string(token));
    if (found == ids_.end())
      damaged(place, fmt::format("names \"{}\", which is no token", token.substr(0, 80)));
    return found->second;
  }

  void merges(const KeyedJson& model) {
    const KeyedJson* const found = field(model, "merges");
    if (found == nullptr || !found->is_array()) damaged("model.merges", "must be a list");
    MergeTable seen(static_cast<std::int64_t>(found->size()));
    made_.merges.reserve(found->size());
    for (std::size_t index = 0; index < found->size(); ++index) {
      const std::string place = fmt::format("model.merges[{}]", index);
      const auto [left, right] = pair((*found)[index], place);
      const BpeModel::Merge merge{known(left, place), known(right, place),
                                  known(left + right, place)};
      if (!seen.insert(merge.left, merge.right, {})) damaged(place, "repeats an earlier one");
      made_.merges.push_back(merge);
    }
  }

  /// Both spellings: "a b" and ["a", "b"].
  std::pair<std::string, std::string> pair(const KeyedJson& entry, const std::string& place) const {
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string())
      return {entry[0].get<std::string>(), entry[1].get<std::string>()};
    if (entry.is_string()) {
      const auto& text = entry.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos)
        return {text.substr(0, space), text.substr(space + 1)};
    }
    damaged(place, "must be two tokens");
  }

  void unknown(const KeyedJson& model) {
    const KeyedJson* const found = field(model, "unk_token");
    if (found == nullptr) return;
    if (!found->is_string()) damaged("model.unk_token", "must be a text");
    made_.unknown = found->get<std::string>();
    known(made_.unknown, "model.unk_token");
  }

  const KeyedJson& file_;
  const std::string& name_;
  TokenizerDescription made_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

std::string quoted(const std::string& text) {
  return KeyedJson(text).dump(-1, ' ', false, KeyedJson::error_handler_t::replace);
}

}  // namespace

TokenizerDescription read_tokenizer_json(const KeyedJson& file, const std::string& name) {
  return JsonReader(file, name).read();
}

std::string tokenizer_json(const TokenizerDescription& description) {
  Json added = Json::array();
  for (const AddedToken& token : description.added) {
    added.push_back({{"id", token.id},
                     {"content", token.content},
                     {"single_word", false},
                     {"lstrip", token.strips_left},
                     {"rstrip", token.strips_right},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  const std::string unknown = description.unknown.empty() ? "null" : quoted(description.unknown);
  std::string text = fmt::format(
      "{{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n\"added_tokens\":{},\n"
      "\"normalizer\":{},\n\"pre_tokenizer\":{},\n\"post_processor\":{},\n\"decoder\":{},\n"
      "\"model\":{{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":{},"
      "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":{},"
      "\"byte_fallback\":{},\"ignore_merges\":{},\n\"vocab\":{{",
      added.dump(), description.normalizer, description.pre_tokenizer, description.post_processor,
      description.decoder, unknown, description.fuse_unknown, description.byte_fallback,
      description.whole_pieces);
  // By hand: Json would look through all the fields before each new one.
  const char* separator = "\n";
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    if (description.tokens[id].empty()) continue;
    text += fmt::format("{}{}:{}", separator, quoted(description.tokens[id]), id);
    separator = ",\n";
  }
  text += "},\n\"merges\":[";
  separator = "\n";
  for (const BpeModel::Merge& merge : description.merges) {
    text += fmt::format("{}[{},{}]", separator,
                        quoted(description.tokens[static_cast<std::size_t>(merge.left)]),
                        quoted(description.tokens[static_cast<std::size_t>(merge.right)]));
    separator = ",\n";
  }
  return text + "]}}\n";
}

}  // namespace athanor
