// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/base/json.h"
#include "engine/data/merge_table.h"

namespace athanor {

namespace {

constexpr std::int32_t kByteTokens = 256;
constexpr std::int32_t kNoMerge = std::numeric_limits<std::int32_t>::max();
constexpr int kFormat = 1;

std::string merge_place(std::size_t index) {
  return fmt::format("merges[{}]", index);
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::damaged, name + " is not a usable tokenizer: " + what +
                                      ". Make the tokenizer again from its text.");
}

Tokenizer::Merge merge_from_json(const Json& entry, std::size_t index, const std::string& name) {
  const auto is_id = [](const Json& value) {
    return value.is_number_integer() && value >= 0 &&
           value < std::numeric_limits<std::int32_t>::max();
  };
  if (!entry.is_array() || entry.size() != 2 || !is_id(entry[0]) || !is_id(entry[1])) {
    refuse(name, merge_place(index) + " must be two token numbers");
  }
  return {entry[0].get<std::int32_t>(), entry[1].get<std::int32_t>()};
}

}  // namespace

struct Tokenizer::Tables {
  std::vector<Merge> merges;
  MergeTable ranks;
  std::string bytes;                ///< all tokens' bytes, one after the other
  std::vector<std::size_t> starts;  ///< where each token's begin, and the end
  Pretokenizer pretokenizer;

  explicit Tables(std::vector<Merge> learned)
      : merges(std::move(learned)), ranks(static_cast<std::int64_t>(merges.size())) {
    for (std::int32_t byte = 0; byte < kByteTokens; ++byte) {
      starts.push_back(bytes.size());
      bytes.push_back(static_cast<char>(byte));
    }
    for (std::size_t index = 0; index < merges.size(); ++index)
      add_merge(index);
    starts.insert(starts.end(), 2, bytes.size());  // end_of_text has no bytes
  }

  void add_merge(std::size_t index) {
    const Merge merge = merges[index];
    const auto token = static_cast<std::int32_t>(kByteTokens + index);
    starts.push_back(bytes.size());
    if (merge.left < 0 || merge.left >= token || merge.right < 0 || merge.right >= token) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} names the tokens {} and {}, but only those below {} exist before "
                              "it. Make the tokenizer again from its text.",
                              merge_place(index), merge.left, merge.right, token));
    }
    const std::string joined = std::string(view(merge.left)) + std::string(view(merge.right));
    // Such a token could never occur, and a few of them could claim all memory.
    if (joined.size() > Pretokenizer::kMaxPieceBytes ||
        !ranks.insert(merge.left, merge.right, static_cast<std::int32_t>(index))) {
      throw Error(ErrorKind::invalid_argument,
                  merge_place(index) +
                      " can never be used: it repeats an earlier one or is longer "
                      "than any piece of text. Make the tokenizer again from its "
                      "text.");
    }
    bytes += joined;
  }

  std::string_view view(std::int32_t id) const {
    const auto index = static_cast<std::size_t>(id);
    const std::size_t end = index + 1 < starts.size() ? starts[index + 1] : bytes.size();
    return std::string_view(bytes).substr(starts[index], end - starts[index]);
  }

  void encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const;
};

void Tokenizer::Tables::encode_piece(std::string_view piece, std::vector<std::int32_t>& ids) const {
  std::array<std::int32_t, Pretokenizer::kMaxPieceBytes> tokens;
  // pair_ranks[i] is the rank of the pair (i, i + 1).
  std::array<std::int32_t, Pretokenizer::kMaxPieceBytes> pair_ranks;
  std::size_t count = piece.size();
  const auto rank_of = [&](std::size_t index) {
    return index + 1 < count ? ranks.find(tokens[index], tokens[index + 1], kNoMerge) : kNoMerge;
  };
  for (std::size_t index = 0; index < count; ++index) {
    tokens[index] = static_cast<unsigned char>(piece[index]);
  }
  for (std::size_t index = 0; index < count; ++index)
    pair_ranks[index] = rank_of(index);
  while (count > 1) {
    const auto end = pair_ranks.begin() + static_cast<std::ptrdiff_t>(count);
    const auto lowest = std::min_element(pair_ranks.begin(), end);
    if (*lowest == kNoMerge) break;
    const auto at = static_cast<std::size_t>(lowest - pair_ranks.begin());
    tokens[at] = kByteTokens + *lowest;
    std::copy(tokens.begin() + at + 2, tokens.begin() + count, tokens.begin() + at + 1);
    std::copy(lowest + 2, end, lowest + 1);
    --count;
    pair_ranks[at] = rank_of(at);
    if (at > 0) pair_ranks[at - 1] = rank_of(at - 1);
  }
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
}

Tokenizer::Tokenizer(std::vector<Merge> merges)
    : tables_(std::make_unique<Tables>(std::move(merges))) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::from_json(const Json& json, const std::string& name) {
  if (!json.is_object()) refuse(name, "it is not a JSON object");
  if (json.value("format", Json()) != kFormat) {
    refuse(name, fmt::format("\"format\" must be {}", kFormat));
  }
  if (json.value("kind", Json()) != "byte-bpe") refuse(name, "\"kind\" must be \"byte-bpe\"");
  const auto found = json.find("merges");
  if (found == json.end() || !found->is_array()) refuse(name, "\"merges\" must be a list");
  std::vector<Merge> merges;
  merges.reserve(found->size());
  for (const Json& entry : *found)
    merges.push_back(merge_from_json(entry, merges.size(), name));
  try {
    return Tokenizer(std::move(merges));
  } catch (const Error& error) {
    throw Error(ErrorKind::damaged, name + ": " + error.message());
  }
}

Json Tokenizer::to_json() const {
  Json merges = Json::array();
  for (const Merge& merge : tables_->merges)
    merges.push_back({merge.left, merge.right});
  return {{"format", kFormat}, {"kind", "byte-bpe"}, {"merges", std::move(merges)}};
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  return from_json(read_json_file(path), path.string());
}

void Tokenizer::save(const std::filesystem::path& path) const {
  write_file_atomically(path, to_json().dump() + "\n");
}

std::int32_t Tokenizer::vocabulary_size() const {
  return end_of_text() + 1;
}

std::int32_t Tokenizer::end_of_text() const {
  return kByteTokens + static_cast<std::int32_t>(tables_->merges.size());
}

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  for (std::size_t offset = 0; offset < text.size();) {
    const std::size_t length = tables_->pretokenizer.piece_bytes(text, offset);
    tables_->encode_piece(text.substr(offset, length), ids);
    offset += length;
  }
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  encode(text, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids)
    text += token_bytes(id);
  return text;
}

std::string_view Tokenizer::token_bytes(std::int32_t id) const {
  if (id < 0 || id >= vocabulary_size()) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("Token {} does not exist: this tokenizer has the tokens 0 to {}. Use the "
                    "tokenizer that the model was trained with.",
                    id, vocabulary_size() - 1));
  }
  return tables_->view(id);
}

std::uint64_t Tokenizer::fingerprint() const {
  return checksum(std::as_bytes(std::span(tables_->merges)));
}

}  // namespace athanor
