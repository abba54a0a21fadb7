// SPDX-License-Identifier: GPL-3.0-or-later
#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <cstdint>

#include "engine/base/error.h"
#include "engine/data/expression_check.h"
#include "engine/data/text_splitter.h"

namespace athanor {

namespace {

/// Backtracking that a text may ask of a pattern before it is refused instead of taking hours.
constexpr std::uint32_t kMatchLimit = 1'000'000;

struct Stretch {
  std::size_t begin;
  std::size_t end;
  bool is_match;
};

struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct ContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};

/// A match writes its bounds here; one for each thread keeps the pattern shareable.
pcre2_match_data* thread_match_data() {
  thread_local const std::unique_ptr<pcre2_match_data, MatchDataDeleter> data(
      pcre2_match_data_create(1, nullptr));
  return data.get();
}

/// Makes pieces of the stretches of a text by the rules of `tokenizers`' Split.
void apply(SplitBehavior behavior, std::string_view text, std::vector<Stretch> stretches,
           std::vector<std::string_view>& pieces) {
  const bool backwards = behavior == SplitBehavior::merged_with_next;
  if (backwards) std::ranges::reverse(stretches);
  std::vector<Stretch> kept;
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    bool joins = false;
    switch (behavior) {
      case SplitBehavior::isolated:
        break;
      case SplitBehavior::removed:
        if (stretch.is_match) continue;
        break;
      case SplitBehavior::contiguous:
        joins = stretch.is_match == after_match;
        break;
      case SplitBehavior::merged_with_previous:
      case SplitBehavior::merged_with_next:
        joins = stretch.is_match && !after_match;
        break;
    }
    after_match = stretch.is_match;
    if (!joins || kept.empty()) {
      kept.push_back(stretch);
    } else if (backwards) {
      kept.back().begin = stretch.begin;
    } else {
      kept.back().end = stretch.end;
    }
  }
  if (backwards) std::ranges::reverse(kept);
  for (const Stretch& stretch : kept)
    pieces.push_back(text.substr(stretch.begin, stretch.end - stretch.begin));
}

/// Finds matches one after the other and applies a behaviour to them.
class FindingSplitter : public TextSplitter {
 public:
  FindingSplitter(SplitBehavior behavior, bool inverted)
      : behavior_(behavior), inverted_(inverted) {}

  void split(std::string_view text, std::vector<std::string_view>& pieces) const override {
    std::vector<Stretch> stretches;
    std::size_t plain = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    for (std::size_t from = 0; from < text.size() && find(text, from, begin, end);) {
      if (begin > plain) stretches.push_back({plain, begin, inverted_});
      stretches.push_back({begin, end, !inverted_});
      plain = from = end;
    }
    if (plain < text.size()) stretches.push_back({plain, text.size(), inverted_});
    apply(behavior_, text, std::move(stretches), pieces);
  }

 private:
  virtual bool find(std::string_view text, std::size_t from, std::size_t& begin,
                    std::size_t& end) const = 0;

  SplitBehavior behavior_;
  bool inverted_;
};

class PatternSplitter final : public FindingSplitter {
 public:
  PatternSplitter(const std::string& expression, SplitBehavior behavior, bool inverted)
      : FindingSplitter(behavior, inverted), expression_(expression) {
    const std::string translated = pcre2_expression(expression);
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                              nullptr));
    if (!code_) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("the pattern \"{}\" cannot be read by the PCRE2 library", expression),
                  fmt::format("pcre2_compile: {} at {}", error, offset));
    }
    std::uint32_t matches_nothing = 0;
    pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_nothing);
    if (matches_nothing != 0) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("the pattern \"{}\" can match nothing at all", expression));
    }
    // Without a compiler for this processor the interpreter does the same, slower.
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);
    context_.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(context_.get(), kMatchLimit);
  }

 private:
  bool find(std::string_view text, std::size_t from, std::size_t& begin,
            std::size_t& end) const override {
    pcre2_match_data* const data = thread_match_data();
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), from, PCRE2_NO_UTF_CHECK, data, context_.get());
    if (found == PCRE2_ERROR_NOMATCH) return false;
    if (found < 0) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("The tokenizer's pattern \"{}\" takes too long on this text. Use "
                              "another tokenizer.",
                              expression_),
                  fmt::format("pcre2_match: {}", found));
    }
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(data);
    begin = bounds[0];
    end = bounds[1];
    return true;
  }

  std::string expression_;
  std::unique_ptr<pcre2_code, CodeDeleter> code_;
  std::unique_ptr<pcre2_match_context, ContextDeleter> context_;
};

class LiteralSplitter final : public FindingSplitter {
 public:
  LiteralSplitter(std::string literal, SplitBehavior behavior, bool inverted)
      : FindingSplitter(behavior, inverted), literal_(std::move(literal)) {}

 private:
  bool find(std::string_view text, std::size_t from, std::size_t& begin,
            std::size_t& end) const override {
    begin = text.find(literal_, from);
    end = begin + literal_.size();
    return begin != std::string_view::npos;
  }

  std::string literal_;
};

class MarkSplitter final : public TextSplitter {
 public:
  void split(std::string_view text, std::vector<std::string_view>& pieces) const override {
    constexpr std::string_view kMark = "\xE2\x96\x81";
    std::size_t start = 0;
    while (start < text.size()) {
      std::size_t at = start;
      while (text.substr(at).starts_with(kMark))
        at += kMark.size();
      at = std::min(text.find(kMark, at), text.size());
      pieces.push_back(text.substr(start, at - start));
      start = at;
    }
  }
};

}  // namespace

std::unique_ptr<TextSplitter> make_mark_splitter() {
  return std::make_unique<MarkSplitter>();
}

std::unique_ptr<TextSplitter> make_pattern_splitter(const std::string& expression,
                                                    SplitBehavior behavior, bool inverted) {
  return std::make_unique<PatternSplitter>(expression, behavior, inverted);
}

std::unique_ptr<TextSplitter> make_literal_splitter(const std::string& literal,
                                                    SplitBehavior behavior, bool inverted) {
  if (literal.empty()) throw Error(ErrorKind::unsupported, "a text to cut at is empty");
  return std::make_unique<LiteralSplitter>(literal, behavior, inverted);
}

}  // namespace athanor
