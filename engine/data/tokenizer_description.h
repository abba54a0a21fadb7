// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/json_fwd.h"
#include "engine/data/bpe_model.h"

namespace athanor {

/// A token that stands in a text as it is spelled, whatever merging would make of it.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool special = false;       ///< controls the model, is not text
  bool strips_left = false;   ///< takes the white space before it
  bool strips_right = false;  ///< takes the white space after it
  bool normalized = false;    ///< looked for after normalization instead of before
};

/// A byte-pair tokenizer as Hugging Face's tokenizer.json describes it
/// (https://github.com/huggingface/tokenizers, 0.13 to 0.23); what other formats hold is brought
/// into this one.
struct TokenizerDescription {
  /// By id, as the file spells them (byte-level ones in GPT-2's alphabet); empty: no such token.
  std::vector<std::string> tokens;
  std::vector<BpeModel::Merge> merges;  ///< by rank
  /// With the id that `tokens` has for the same spelling, or an id that is free there.
  std::vector<AddedToken> added;
  /// JSON values of the file's fields of these names.
  std::string normalizer = "null";
  std::string pre_tokenizer = "null";
  std::string post_processor = "null";
  std::string decoder = "null";
  std::string unknown;  ///< the token for what has none; empty: it is left out
  bool fuse_unknown = false;
  bool byte_fallback = false;
  bool whole_pieces = false;  ///< "ignore_merges"
  /// The content of the added token that ends a document; empty: chosen by usual names.
  std::string end_of_text;
};

/// Most ids a file may name: one far beyond its tokens would ask for memory it does not justify.
constexpr std::int64_t most_ids(std::size_t tokens) {
  return 65'536 + 4 * static_cast<std::int64_t>(tokens);
}

/// Files over this are no tokenizers.
constexpr std::int64_t kLargestTokenizer_bytes = 128 << 20;

/// GPT-2's byte alphabet (Radford et al. 2019, encoder.py): each byte as a printable character.
namespace byte_alphabet {
std::string spelled(std::string_view bytes);
/// False when a character is not of the alphabet; `bytes` is undefined then.
bool read(std::string_view spelled, std::string& bytes);
}  // namespace byte_alphabet

/// tokenizer.json. Damaged or unsupported files throw with the place and what was found there.
TokenizerDescription read_tokenizer_json(const KeyedJson& file, const std::string& name);
/// The same format, which `tokenizers` reads.
std::string tokenizer_json(const TokenizerDescription& description);

/// A file of lines "<base64 of a token's bytes> <rank>" (https://github.com/openai/tiktoken).
/// `pattern` is one of tiktoken_patterns(); empty: the one of the encoding that has this many
/// ranks, where one does (50,256 r50k, 50,280 p50k, 100,256 cl100k, 199,998 o200k), else refused.
/// Such an encoding's special tokens are added too; to other lists only "<|endoftext|>".
TokenizerDescription read_tiktoken(std::string_view text, const std::string& name,
                                   const std::string& pattern = {});
const std::vector<std::string_view>& tiktoken_patterns();

/// GPT-2's own files: encoder.json (or vocab.json), token → id, and vocab.bpe (or merges.txt), a
/// merge a line.
TokenizerDescription read_gpt2_files(std::string_view encoder, const std::string& encoder_name,
                                     std::string_view merges, const std::string& merges_name);

/// What a GGUF file says of its tokenizer, under "tokenizer.ggml."
/// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
struct GgufVocabulary {
  std::string model;  ///< "gpt2" or "llama"
  std::string pre;    ///< of gpt2: the pattern's name, such as "llama-bpe"
  std::vector<std::string> tokens;
  std::vector<float> scores;        ///< of llama: merged by the highest
  std::vector<std::int32_t> types;  ///< 1 normal, 2 unknown, 3 control, 4 user, 5 unused, 6 byte
  std::vector<std::string> merges;  ///< of gpt2: "left right"
  std::int32_t end_of_text = -1;    ///< "eos_token_id"
  std::int32_t unknown = -1;        ///< "unknown_token_id"
  bool add_space_prefix = true;     ///< of llama
};
TokenizerDescription read_gguf_vocabulary(const GgufVocabulary& vocabulary,
                                          const std::string& name);

}  // namespace athanor
