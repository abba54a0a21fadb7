// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/cancel_token.h"
#include "engine/base/json_fwd.h"
#include "engine/data/progress.h"

namespace athanor {

/// Byte-level byte-pair encoding: text is cut into pieces by GPT-2's pattern (PCRE2, Unicode), each
/// piece's UTF-8 bytes are merged pair by pair in the order the merges were learned (Sennrich et
/// al. 2016; Radford et al. 2019). Any bytes, valid UTF-8 or not, come back unchanged from
/// decode(encode()). Ids: 0…255 the bytes, then one for each merge, then the special tokens.
/// Immutable and thread-safe.
class Tokenizer {
 public:
  static constexpr std::string_view kEndOfText = "<|endoftext|>";

  struct Merge {
    std::int32_t left;
    std::int32_t right;
  };

  /// Throws invalid_argument when a merge names a token that does not exist before it.
  explicit Tokenizer(std::vector<Merge> merges);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// {"format": 1, "kind": "byte-bpe", "merges": [[left, right], …]}; damaged names the place.
  static Tokenizer from_json(const Json& json, const std::string& name);
  Json to_json() const;
  static Tokenizer load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path) const;

  std::int32_t vocabulary_size() const;
  /// Ends every document; never produced by encode(), whatever the text says.
  std::int32_t end_of_text() const;

  /// Appends the ids of `text`.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const;
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// The bytes behind ids; end_of_text gives none. Throws invalid_argument for an id out of range.
  std::string decode(std::span<const std::int32_t> ids) const;
  std::string_view token_bytes(std::int32_t id) const;
  /// Identifies the merges: shards made with another tokenizer do not match.
  std::uint64_t fingerprint() const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// Learns merges from `text` until there are `vocabulary_size` ids (bytes and end_of_text included)
/// or no pair occurs twice. Ties go to the pair of smaller ids, so the same text gives the same
/// tokenizer. A text over `sample_bytes` is sampled evenly. Throws invalid_argument for a size
/// below 257.
Tokenizer train_tokenizer(std::string_view text, std::int32_t vocabulary_size,
                          const CancelToken& cancel, const ProgressCallback& progress = {},
                          std::int64_t sample_bytes = 32 << 20);

/// Cuts text into the pieces of GPT-2's pattern; every byte is in exactly one piece. Thread-safe.
class Pretokenizer {
 public:
  /// Longer runs, such as a line of dashes without end, are cut: no token can be longer than this.
  static constexpr std::size_t kMaxPieceBytes = 512;

  Pretokenizer();
  ~Pretokenizer();
  Pretokenizer(const Pretokenizer&) = delete;
  Pretokenizer& operator=(const Pretokenizer&) = delete;

  /// The length in bytes of the piece that starts at `offset`; at least 1.
  std::size_t piece_bytes(std::string_view text, std::size_t offset) const;

 private:
  struct Pattern;
  std::unique_ptr<Pattern> pattern_;
};

}  // namespace athanor
