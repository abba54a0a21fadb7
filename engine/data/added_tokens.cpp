// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/added_tokens.h"

#include <algorithm>
#include <functional>

#include "engine/base/utf8.h"
#include "engine/data/unicode_classes.h"

namespace athanor {

namespace {

bool is_space(std::string_view text, std::size_t at) {
  if (utf8_character_bytes(text, at) == 0) return false;
  const char32_t code = first_character(text.data() + at).code;
  return (UnicodeTable::instance().classes(code) & unicode::kSpace) != 0;
}

/// Where the white space that ends at `end` begins, not before `from`.
std::size_t spaces_begin(std::string_view text, std::size_t from, std::size_t end) {
  while (end > from) {
    std::size_t at = end - 1;
    while (at > from && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
      --at;
    if (!is_space(text, at)) break;
    end = at;
  }
  return end;
}

std::size_t spaces_end(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text, at))
    at += utf8_character_bytes(text, at);
  return at;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), places_(tokens_.size()) {
  for (std::size_t place = 0; place < tokens_.size(); ++place) {
    const std::string& content = tokens_[place].content;
    if (content.empty() || !places_.insert(content, static_cast<std::int32_t>(place))) continue;
    const auto first = static_cast<unsigned char>(content.front());
    begins_[first] = true;
    only_special_ = only_special_ && tokens_[place].special;
    lengths_[first].push_back(content.size());
  }
  for (std::vector<std::size_t>& lengths : lengths_) {
    std::ranges::sort(lengths, std::greater());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

const AddedToken* AddedTokenFinder::longest_at(std::string_view text, std::size_t at) const {
  for (const std::size_t length : lengths_[static_cast<unsigned char>(text[at])]) {
    if (length > text.size() - at) continue;
    const std::int32_t place = places_.find(text.substr(at, length));
    if (place >= 0) return &tokens_[static_cast<std::size_t>(place)];
  }
  return nullptr;
}

AddedTokenFinder::Found AddedTokenFinder::find(std::string_view text, std::size_t from,
                                               bool with_special) const {
  if (!with_special && only_special_) return {text.size(), text.size(), -1};
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const AddedToken* const token = longest_at(text, at);
    if (token == nullptr) continue;
    std::size_t end = at + token->content.size();
    if (token->special && !with_special) {
      at = end - 1;
      continue;
    }
    const std::size_t begin = token->strips_left ? spaces_begin(text, from, at) : at;
    if (token->strips_right) end = spaces_end(text, end);
    return {begin, end, token->id};
  }
  return {text.size(), text.size(), -1};
}

}  // namespace athanor
