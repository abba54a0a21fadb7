// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/tokenizer_cutting.h"

#include <array>

#include "engine/base/json.h"
#include "engine/data/text_splitter.h"

namespace athanor {

namespace {

std::string type_of(const KeyedJson& part) {
  const auto type = part.is_object() ? part.find("type") : part.end();
  return part.is_object() && type != part.end() && type->is_string() ? type->get<std::string>()
                                                                     : std::string();
}

bool is_byte_level(const KeyedJson& part, bool with_pattern) {
  return type_of(part) == "ByteLevel" && part.value("use_regex", true) == with_pattern &&
         !part.value("add_prefix_space", true);
}

}  // namespace

std::string cutting_name(const TokenizerDescription& description) {
  struct Known {
    KnownPattern pattern;
    const char* name;
    bool whole_pieces;
  };
  constexpr std::array kKnown = {
      Known{KnownPattern::gpt2, "gpt-2", false}, Known{KnownPattern::llama3, "llama-bpe", true},
      Known{KnownPattern::qwen2, "qwen2", false}, Known{KnownPattern::qwen35, "qwen35", false},
      Known{KnownPattern::o200k, "gpt-4o", false}};
  const KeyedJson cutting = parse_keyed_json(description.pre_tokenizer, "the tokenizer");
  if (is_byte_level(cutting, true) && !description.whole_pieces) return "gpt-2";
  const KeyedJson parts =
      cutting.is_object() ? cutting.value("pretokenizers", KeyedJson()) : KeyedJson();
  if (type_of(cutting) == "Sequence" && parts.is_array() && parts.size() == 2) {
    if (type_of(parts[0]) == "Digits" && parts[0].value("individual_digits", false) &&
        is_byte_level(parts[1], true) && !description.whole_pieces) {
      return "smollm";
    }
    const KeyedJson pattern = parts[0].value("pattern", KeyedJson());
    if (type_of(parts[0]) == "Split" && parts[0].value("behavior", "") == "Isolated" &&
        !parts[0].value("invert", false) && is_byte_level(parts[1], false) && pattern.is_object() &&
        pattern.value("Regex", KeyedJson()).is_string()) {
      const KnownPattern* const found = known_pattern(pattern["Regex"].get<std::string>());
      for (const Known& known : kKnown) {
        if (found != nullptr && known.pattern == *found &&
            known.whole_pieces == description.whole_pieces) {
          return known.name;
        }
      }
    }
  }
  return {};
}

}  // namespace athanor
