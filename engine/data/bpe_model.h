// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/data/merge_table.h"
#include "engine/data/piece_table.h"

namespace athanor {

/// Byte-pair encoding of single pieces (Sennrich et al. 2016): a piece begins as bytes or
/// characters; of all neighbours the pair of the lowest rank, the leftmost of equals, is merged
/// until no pair is left. Immutable and thread-safe.
class BpeModel {
 public:
  struct Merge {
    std::int32_t left;
    std::int32_t right;
    std::int32_t result;
  };

  struct Parts {
    /// What each id stands for in a piece; empty: no piece ever becomes it.
    std::vector<std::string> tokens;
    std::vector<Merge> merges;  ///< by rank
    /// The ids of single bytes, −1 where there is none. With `characters`, of those that spell
    /// characters which are no token.
    std::array<std::int32_t, 256> byte_tokens;
    bool characters = false;    ///< pieces begin as characters instead of bytes
    bool whole_pieces = false;  ///< a piece that is a token is never taken apart
    std::int32_t unknown = -1;  ///< for what has no token; without one it is left out
    bool fuse_unknown = false;  ///< neighbours without a token become one unknown
  };

  /// Merges name existing ids, and no pair twice.
  explicit BpeModel(Parts parts);
  BpeModel(const BpeModel&) = delete;
  BpeModel& operator=(const BpeModel&) = delete;

  const Parts& parts() const { return parts_; }

  /// The token that a piece is as a whole, or −1 when it has to be taken apart.
  std::int32_t whole_token(std::string_view piece, const PieceKey& key) const {
    return whole_.find(piece, key);
  }
  /// Appends the ids of a piece that is UTF-8. Memory and time grow with n and n log n.
  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const;

 private:
  /// The ids that a piece begins as.
  void begin(std::string_view piece, std::vector<std::int32_t>& ids) const;
  /// Merges the ids from `first` on.
  void merge_short(std::vector<std::int32_t>& ids, std::size_t first) const;
  void merge_long(std::vector<std::int32_t>& ids, std::size_t first) const;

  Parts parts_;
  MergeTable merges_;
  PieceTable whole_;
};

/// What a list of tokens with ranks says about merging, as tiktoken and SentencePiece have it: any
/// two neighbours that together are a token may merge, the lowest rank first. Gives for each token
/// the two that it is made of, or {-1, -1} when merging never arrives at it. That pair is the only
/// one: up to the last merge a token's own bytes are merged as they would be alone, since no merge
/// across its bounds can have happened. `ranks` and `tokens` have the same length; tokens that are
/// empty take no part; `characters` as above. Time grows with the square of a token's length, so
/// readers refuse tokens over kLongestRankedToken_bytes.
constexpr std::size_t kLongestRankedToken_bytes = 512;
struct TokenPair {
  std::int32_t left = -1;
  std::int32_t right = -1;
};
std::vector<TokenPair> pairs_of_ranks(const std::vector<std::string>& tokens,
                                      const std::vector<std::int32_t>& ranks, bool characters);

}  // namespace athanor
