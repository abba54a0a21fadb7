// SPDX-License-Identifier: GPL-3.0-or-later
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "engine/base/error.h"
#include "engine/base/utf8.h"
#include "engine/data/tokenizer.h"

namespace athanor {

namespace {

/// GPT-2's pattern (Radford et al. 2019, encoder.py).
constexpr std::string_view kPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
using MatchData = std::unique_ptr<pcre2_match_data, MatchDataDeleter>;

/// A match writes its bounds here; one for each thread keeps the pattern shareable.
pcre2_match_data* thread_match_data() {
  thread_local const MatchData data(pcre2_match_data_create(1, nullptr));
  return data.get();
}

}  // namespace

struct Pretokenizer::Pattern {
  pcre2_code* code = nullptr;

  Pattern() {
    int error = 0;
    PCRE2_SIZE error_offset = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kPattern.data()), kPattern.size(),
                         PCRE2_UTF | PCRE2_UCP | PCRE2_ANCHORED | PCRE2_MATCH_INVALID_UTF, &error,
                         &error_offset, nullptr);
    if (code == nullptr) {
      throw Error(
          ErrorKind::unsupported,
          "The text pattern of the tokenizer cannot be used by this system's PCRE2 library. "
          "Install a PCRE2 with Unicode support.",
          "pcre2_compile: " + std::to_string(error));
    }
    // Without a compiler for this processor the interpreter does the same, slower.
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  }
  ~Pattern() { pcre2_code_free(code); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
};

Pretokenizer::Pretokenizer() : pattern_(std::make_unique<Pattern>()) {}
Pretokenizer::~Pretokenizer() = default;

std::size_t Pretokenizer::piece_bytes(std::string_view text, std::size_t offset) const {
  if (utf8_character_bytes(text, offset) == 0) return 1;
  // The pattern never looks back, so a window shows it all it needs and bounds the work.
  const std::string_view window = text.substr(offset, kMaxPieceBytes);
  pcre2_match_data* const data = thread_match_data();
  const int found = pcre2_match(pattern_->code, reinterpret_cast<PCRE2_SPTR>(window.data()),
                                window.size(), 0, 0, data, nullptr);
  const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(data);
  if (found <= 0 || bounds[0] != 0 || bounds[1] == 0) return 1;
  return bounds[1];
}

}  // namespace athanor
