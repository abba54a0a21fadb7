// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/token_encoder.h"

#include "engine/base/utf8.h"
#include "engine/data/tokenizer_tables.h"

namespace athanor {

TokenEncoder::TokenEncoder(const Tokenizer& tokenizer, bool cache) : tables_(tokenizer.tables()) {
  if (cache) cache_.emplace();
}

void TokenEncoder::encode(std::string_view text, std::vector<std::int32_t>& ids,
                          EncodeOptions options) {
  TextPlace place = options.after_token ? TextPlace::after_token : TextPlace::first;
  if (options.continues) place = TextPlace::inside;
  for (std::size_t at = 0; at < text.size();) {
    const AddedTokenFinder::Found token = tables_.raw_tokens.find(text, at, options.special_tokens);
    encode_part(text.substr(at, token.begin - at), place, options.special_tokens, ids);
    if (token.id >= 0) ids.push_back(token.id);
    at = token.end;
    place = TextPlace::after_token;
  }
}

void TokenEncoder::encode_part(std::string_view text, TextPlace place, bool special,
                               std::vector<std::int32_t>& ids) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid = utf8_prefix_bytes(text.substr(at));
    if (valid > 0) encode_valid(text.substr(at, valid), place, special, ids);
    at += valid;
    place = TextPlace::inside;
    if (at < text.size()) tables_.model.encode(text.substr(at++, 1), ids);
  }
}

void TokenEncoder::encode_valid(std::string_view text, TextPlace place, bool special,
                                std::vector<std::int32_t>& ids) {
  const TokenizerPipeline& pipeline = tables_.pipeline;
  if (!pipeline.normalizer.empty()) {
    normalized_ = text;
    normalize(pipeline.normalizer, normalized_, place);
    text = normalized_;
  }
  for (std::size_t at = 0; at < text.size();) {
    const AddedTokenFinder::Found token = tables_.normalized_tokens.find(text, at, special);
    const std::string_view part = text.substr(at, token.begin - at);
    if (pipeline.preparation.empty()) {
      encode_pieces(part, ids);
    } else {
      prepared_ = part;
      normalize(pipeline.preparation, prepared_, place);
      encode_pieces(prepared_, ids);
    }
    if (token.id >= 0) ids.push_back(token.id);
    at = token.end;
    place = TextPlace::after_token;
  }
}

void TokenEncoder::encode_pieces(std::string_view text, std::vector<std::int32_t>& ids) {
  if (text.empty()) return;
  const char* const end = text.data() + text.size();
  pieces_.assign(1, text);
  for (const auto& splitter : tables_.pipeline.splitters) {
    finer_pieces_.clear();
    for (const std::string_view piece : pieces_)
      splitter->split(piece, finer_pieces_);
    pieces_.swap(finer_pieces_);
  }
  for (const std::string_view piece : pieces_)
    encode_piece(piece, end, ids);
}

void TokenEncoder::encode_piece(std::string_view piece, const char* end,
                                std::vector<std::int32_t>& ids) {
  const PieceKey key(piece, end);
  if (const std::int32_t id = tables_.model.whole_token(piece, key); id >= 0) {
    ids.push_back(id);
    return;
  }
  if (!cache_) {
    tables_.model.encode(piece, ids);
    return;
  }
  if (const std::span<const std::int32_t> kept = cache_->find(piece, key); !kept.empty()) {
    ids.insert(ids.end(), kept.begin(), kept.end());
    return;
  }
  const std::size_t first = ids.size();
  tables_.model.encode(piece, ids);
  cache_->insert(piece, key, std::span(ids).subspan(first));
}

}  // namespace athanor
