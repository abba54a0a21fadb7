// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/piece_table.h"
#include "engine/data/text_normalizer.h"
#include "engine/data/tokenizer.h"

namespace athanor {

struct EncodeOptions {
  bool special_tokens = false;  ///< in the text become what they are instead of text
  bool continues = false;       ///< the text goes on from a cut (Tokenizer::cut_after)
  bool after_token = false;     ///< the text follows a special token
};

/// Encodes much text with one tokenizer, which must outlive it: keeps its scratch memory, and the
/// ids of pieces seen lately. For one thread at a time.
class TokenEncoder {
 public:
  /// Without `cache` it starts at once: for a few short texts.
  explicit TokenEncoder(const Tokenizer& tokenizer, bool cache = true);

  /// Appends the ids of `text`.
  void encode(std::string_view text, std::vector<std::int32_t>& ids, EncodeOptions options = {});

 private:
  void encode_part(std::string_view text, TextPlace place, bool special,
                   std::vector<std::int32_t>& ids);
  void encode_valid(std::string_view text, TextPlace place, bool special,
                    std::vector<std::int32_t>& ids);
  void encode_pieces(std::string_view text, std::vector<std::int32_t>& ids);
  void encode_piece(std::string_view piece, const char* end, std::vector<std::int32_t>& ids);

  const TokenizerTables& tables_;
  std::optional<PieceCache> cache_;
  std::string normalized_;
  std::string prepared_;
  std::vector<std::string_view> pieces_;
  std::vector<std::string_view> finer_pieces_;
};

}  // namespace athanor
