// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/file.h"

namespace athanor {

/// A file of token ids: a 64-byte header (magic "ATHSHARD", version, bytes per token 2 or 4,
/// tokens, documents, vocabulary size, tokenizer fingerprint, XXH3 of the payload, XXH3 of the
/// header), then the ids, little-endian. Every document ends with the tokenizer's end-of-text
/// token.
class TokenShard {
 public:
  struct Info {
    std::int64_t tokens = 0;
    std::int64_t documents = 0;
    std::int32_t vocabulary_size = 0;
    std::uint64_t tokenizer_fingerprint = 0;
    std::uint64_t payload_checksum = 0;
  };

  /// Maps a shard and checks header, length, checksum and that every id is below the vocabulary
  /// size; throws damaged naming the file and what is wrong.
  static TokenShard open(const std::filesystem::path& path);

  const Info& info() const { return info_; }
  std::int64_t tokens() const { return info_.tokens; }
  std::int32_t token(std::int64_t index) const;
  /// Copies tokens [first, first + out.size()).
  void read(std::int64_t first, std::span<std::int32_t> out) const;
  /// Calls visit(std::span<const std::int32_t>) for all tokens in their order, some at a time, with
  /// little memory however long the shard is.
  template <class Visit>
  void for_chunks(const Visit& visit) const {
    std::vector<std::int32_t> chunk;
    for (std::int64_t first = 0; first < tokens(); first += kChunk_tokens) {
      chunk.resize(static_cast<std::size_t>(std::min(kChunk_tokens, tokens() - first)));
      read(first, chunk);
      visit(std::span<const std::int32_t>(chunk));
      if (first % kReleased_tokens == 0) file_.release();
    }
  }

 private:
  static constexpr std::int64_t kChunk_tokens = 1 << 16;
  static constexpr std::int64_t kReleased_tokens = 1 << 23;

  TokenShard(MappedFile file, Info info, int token_bytes);

  MappedFile file_;
  Info info_;
  int token_bytes_;
};

/// Writes a shard atomically; nothing is left if it is destroyed before finish().
class TokenShardWriter {
 public:
  TokenShardWriter(const std::filesystem::path& path, std::int32_t vocabulary_size,
                   std::uint64_t tokenizer_fingerprint);
  ~TokenShardWriter();
  /// Appends the beginning of a document too long for one piece; add_document() brings its rest.
  void add_part(std::span<const std::int32_t> ids);
  /// Appends one document, its end-of-text token included.
  void add_document(std::span<const std::int32_t> ids);
  /// Appends `tokens` tokens from `first` on once more, which are one document.
  void repeat(std::int64_t first, std::int64_t tokens);
  std::int64_t tokens() const { return info_.tokens; }
  TokenShard::Info finish();

 private:
  void append(std::span<const std::byte> bytes);
  void flush();

  AtomicFile file_;
  TokenShard::Info info_;
  int token_bytes_;
  std::vector<std::byte> pending_;
  struct HashState;
  std::unique_ptr<HashState> hash_;
};

}  // namespace athanor
