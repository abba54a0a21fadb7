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
#include "engine/data/progress.h"

namespace athanor {

struct TokenizerDescription;
struct TokenizerTables;

/// Byte-pair encoding as a file describes it, or as it was trained here (Sennrich et al. 2016;
/// Radford et al. 2019). Byte-level ones give any bytes, valid UTF-8 or not, back from
/// decode(encode()): stretches of UTF-8 are encoded as texts, every other byte by itself. Immutable
/// and thread-safe.
class Tokenizer {
 public:
  static constexpr std::string_view kEndOfText = "<|endoftext|>";

  struct Merge {
    std::int32_t left;
    std::int32_t right;
  };

  /// A byte-level one cut by GPT-2's pattern. Ids: 0…255 the bytes, then one for each merge, then
  /// kEndOfText. Throws invalid_argument when a merge names a token that does not exist before it.
  explicit Tokenizer(std::vector<Merge> merges);
  /// Errors name `name`: damaged for what contradicts itself, unsupported for what cannot be
  /// honoured.
  Tokenizer(TokenizerDescription description, const std::string& name);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// A file, or a folder with one, of any of these: tokenizer.json; encoder.json with vocab.bpe, or
  /// vocab.json with merges.txt; a tiktoken file, cut by `pattern` (see read_tiktoken); Athanor's
  /// first format. A tokenizer_config.json beside says which token ends a text ("eos_token");
  /// without it the first there is of <|endoftext|>, <|end_of_text|>, </s>, <eos> and <|im_end|>.
  static Tokenizer load(const std::filesystem::path& path, const std::string& pattern = {});
  /// Writes tokenizer.json at `path` and tokenizer_config.json beside it, as Hugging Face's
  /// libraries read them.
  void save(const std::filesystem::path& path) const;

  /// One more than the highest id; some below may have no token.
  std::int32_t vocabulary_size() const;
  /// Ids below vocabulary_size() that stand for nothing, ascending.
  const std::vector<std::int32_t>& unused_ids() const;
  /// Ends every document; never produced by encode(), whatever the text says.
  std::int32_t end_of_text() const;
  /// Controls the model and is no text.
  bool is_special(std::int32_t id) const;

  /// Appends the ids of `text`. Special tokens in it are text. For much text: TokenEncoder.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const;
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// The bytes behind ids; special tokens give none. Throws invalid_argument for an id out of
  /// range.
  std::string decode(std::span<const std::int32_t> ids) const;
  std::string_view token_bytes(std::int32_t id) const;
  /// Identifies the tokenizer: shards made with another one do not match.
  std::uint64_t fingerprint() const;

  /// A place after `from` where the text can be cut so that its parts, the later ones encoded as
  /// continuing, give the tokens of the whole; the text's end when none is found.
  std::size_t cut_after(std::string_view text, std::size_t from) const;

  const TokenizerDescription& description() const;
  const TokenizerTables& tables() const { return *tables_; }

 private:
  std::unique_ptr<const TokenizerTables> tables_;
};

/// The least multiple of `multiple` that has room for the tokenizer's ids: products with the head
/// are faster at such sizes. What a model has beyond the tokenizer's ids is never sampled.
std::int64_t padded_vocabulary(const Tokenizer& tokenizer, std::int64_t multiple = 64);

/// Learns merges from `text` until there are `vocabulary_size` ids (bytes and end_of_text included)
/// or no pair occurs twice. Ties go to the pair of smaller ids, so the same text gives the same
/// tokenizer, on any number of threads (0: all). A text over `sample_bytes` is sampled evenly.
/// Throws invalid_argument for a size below 257.
Tokenizer train_tokenizer(std::string_view text, std::int32_t vocabulary_size,
                          const CancelToken& cancel, const ProgressCallback& progress = {},
                          std::int64_t sample_bytes = 32 << 20, int threads = 0);

}  // namespace athanor
