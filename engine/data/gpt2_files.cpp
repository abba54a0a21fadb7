// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/data/tokenizer_description.h"
#include "engine/data/tokenizer_pipeline.h"

namespace athanor {

namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";

/// Merges a line each, as tokenizer.json has them.
KeyedJson merge_lines(std::string_view text, const std::string& name) {
  KeyedJson merges = KeyedJson::array();
  std::size_t line_number = 0;
  for (std::size_t at = 0; at < text.size();) {
    ++line_number;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw Error(ErrorKind::damaged,
                  fmt::format("{}, line {}, is not two tokens with a space between. Get the file "
                              "again, or choose another tokenizer.",
                              name, line_number));
    }
    merges.push_back(std::string(line));
  }
  return merges;
}

}  // namespace

TokenizerDescription read_gpt2_files(std::string_view encoder, const std::string& encoder_name,
                                     std::string_view merges, const std::string& merges_name) {
  KeyedJson file;
  KeyedJson& model = file["model"];
  model["type"] = "BPE";
  model["vocab"] = parse_keyed_json(encoder, encoder_name);
  model["merges"] = merge_lines(merges, merges_name);
  const KeyedJson& vocabulary = model["vocab"];
  if (vocabulary.is_object() && vocabulary.contains(kEndOfText)) {
    file["added_tokens"] = KeyedJson::array({{{"content", kEndOfText},
                                              {"id", vocabulary[std::string(kEndOfText)]},
                                              {"special", true}}});
  }
  file["pre_tokenizer"] = KeyedJson::parse(pre_tokenizer_json(KnownPattern::gpt2));
  file["decoder"] = KeyedJson::parse(kByteLevelDecoder);
  return read_tokenizer_json(file, encoder_name + " with " + merges_name);
}

}  // namespace athanor
