// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/tokenizer.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/data/token_encoder.h"
#include "engine/data/tokenizer_tables.h"
#include "engine/data/unicode_classes.h"

namespace athanor {

namespace {

constexpr std::int32_t kByteTokens = 256;
/// A few merges could double their tokens until these claim all memory.
constexpr std::size_t kLongestToken_bytes = 512;

[[noreturn]] void refuse_merge(std::size_t index, const std::string& what) {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("merges[{}] {}. Make the tokenizer again from its text.", index, what));
}

TokenizerDescription description_of(const std::vector<Tokenizer::Merge>& merges) {
  std::vector<std::string> tokens;
  for (std::int32_t byte = 0; byte < kByteTokens; ++byte)
    tokens.emplace_back(1, static_cast<char>(byte));
  TokenizerDescription made{.pre_tokenizer = pre_tokenizer_json(KnownPattern::gpt2),
                            .decoder = kByteLevelDecoder,
                            .end_of_text = std::string(Tokenizer::kEndOfText)};
  MergeTable seen(static_cast<std::int64_t>(merges.size()));
  for (std::size_t index = 0; index < merges.size(); ++index) {
    const Tokenizer::Merge& merge = merges[index];
    const auto token = static_cast<std::int32_t>(kByteTokens + index);
    if (merge.left < 0 || merge.left >= token || merge.right < 0 || merge.right >= token) {
      refuse_merge(index, fmt::format("names the tokens {} and {}, but only those below {} exist "
                                      "before it",
                                      merge.left, merge.right, token));
    }
    tokens.push_back(tokens[static_cast<std::size_t>(merge.left)] +
                     tokens[static_cast<std::size_t>(merge.right)]);
    if (tokens.back().size() > kLongestToken_bytes || !seen.insert(merge.left, merge.right, {}))
      refuse_merge(index, "repeats an earlier one, or makes a token too long to be of use");
    made.merges.push_back({merge.left, merge.right, token});
  }
  for (const std::string& token : tokens)
    made.tokens.push_back(byte_alphabet::spelled(token));
  made.added.push_back({.content = made.end_of_text,
                        .id = static_cast<std::int32_t>(tokens.size()),
                        .special = true});
  return made;
}

}  // namespace

Tokenizer::Tokenizer(std::vector<Merge> merges)
    : Tokenizer(description_of(merges), "This tokenizer") {}
Tokenizer::Tokenizer(TokenizerDescription description, const std::string& name)
    : tables_(std::make_unique<TokenizerTables>(std::move(description), name)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::int32_t Tokenizer::vocabulary_size() const {
  return tables_->vocabulary_size;
}

const std::vector<std::int32_t>& Tokenizer::unused_ids() const {
  return tables_->unused;
}

std::int32_t Tokenizer::end_of_text() const {
  return tables_->end_of_text;
}

bool Tokenizer::is_special(std::int32_t id) const {
  return id >= 0 && id < vocabulary_size() && tables_->special[static_cast<std::size_t>(id)];
}

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) const {
  TokenEncoder(*this, false).encode(text, ids);
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
  // Put there by encode().
  if (tables_->pipeline.drops_first_space && text.starts_with(' ')) text.erase(0, 1);
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
  return tables_->text_of(id);
}

std::uint64_t Tokenizer::fingerprint() const {
  return tables_->fingerprint;
}

const TokenizerDescription& Tokenizer::description() const {
  return tables_->description;
}

std::size_t Tokenizer::cut_after(std::string_view text, std::size_t from) const {
  const auto classes = [&](std::size_t at) -> std::uint8_t {
    if (utf8_character_bytes(text, at) == 0) return 0;
    return UnicodeTable::instance().classes(first_character(text.data() + at).code);
  };
  const auto ends_word = [&](std::size_t at) {
    std::size_t last = at - 1;
    while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80)
      --last;
    return (classes(last) & (unicode::kLetter | unicode::kNumber)) != 0;
  };
  if (tables_->cuts == TokenizerTables::Cuts::nowhere) return text.size();
  for (std::size_t at = from + 1; at + 1 < text.size(); ++at) {
    if (tables_->cuts == TokenizerTables::Cuts::at_spaces) {
      if (text[at] == ' ' && text[at - 1] != ' ' && !text.substr(0, at).ends_with(kSpaceMark))
        return at;
    } else if ((text[at] == '\n' || (text[at] == ' ' && (classes(at + 1) & unicode::kLetter))) &&
               ends_word(at)) {
      return at;
    }
  }
  return text.size();
}

std::int64_t padded_vocabulary(const Tokenizer& tokenizer, std::int64_t multiple) {
  return (tokenizer.vocabulary_size() + multiple - 1) / multiple * multiple;
}

}  // namespace athanor
