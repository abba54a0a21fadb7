// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenizer_comparison.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/utf8.h"
#include "engine/data/token_encoder.h"
#include "engine/data/unicode_classes.h"

namespace athanor {

namespace {

constexpr std::size_t kStretch_bytes = 1 << 20;

std::int64_t words_of(std::string_view text) {
  const UnicodeTable& table = UnicodeTable::instance();
  std::int64_t words = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = utf8_character_bytes(text, at);
    const bool is_space =
        bytes > 0 && (table.classes(first_character(text.data() + at).code) & unicode::kSpace) != 0;
    words += !is_space && !in_word ? 1 : 0;
    in_word = !is_space;
    at += std::max<std::size_t>(1, bytes);
  }
  return words;
}

}  // namespace

TokenizerMeasure measure_tokenizer(const Tokenizer& tokenizer, std::string_view text,
                                   const CancelToken& cancel) {
  TokenizerMeasure measure{.vocabulary_size = tokenizer.vocabulary_size(),
                           .text_bytes = static_cast<std::int64_t>(text.size()),
                           .words = words_of(text)};
  std::vector<bool> used(static_cast<std::size_t>(tokenizer.vocabulary_size()));
  std::vector<std::int32_t> ids;
  TokenEncoder encoder(tokenizer);
  for (std::size_t from = 0; from < text.size();) {
    cancel.throw_if_requested();
    const std::size_t end = text.size() - from <= 2 * kStretch_bytes
                                ? text.size()
                                : tokenizer.cut_after(text, from + kStretch_bytes);
    ids.clear();
    const Stopwatch watch;
    encoder.encode(text.substr(from, end - from), ids, {.continues = from > 0});
    measure.seconds += watch.seconds();
    measure.tokens += static_cast<std::int64_t>(ids.size());
    for (const std::int32_t id : ids)
      used[static_cast<std::size_t>(id)] = true;
    from = end;
  }
  measure.used_tokens = std::ranges::count(used, true);
  return measure;
}

}  // namespace athanor
