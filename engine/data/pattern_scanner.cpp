// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <utility>

#include "engine/data/text_splitter.h"
#include "engine/data/unicode_classes.h"

namespace athanor {

namespace {

using namespace unicode;

/// In what the known patterns differ.
struct Rules {
  enum class Suffixes { exact, any_case, after_words } suffixes;  ///< 's, 't, 'll …
  bool any_prefix;          ///< a word may begin with any one character, else with a space only
  bool cased_words;         ///< words end between lower and upper case
  std::uint8_t word;        ///< classes of words' characters
  int longest_number;       ///< 0: any length, and a space may come before
  bool slash_ends_symbols;  ///< symbols take slashes with the line breaks behind them
  bool line_breaks;         ///< symbols take line breaks behind them; white space ends after one
  bool whole_last_space;    ///< white space at the text's end is one piece
};

constexpr Rules kGpt2{Rules::Suffixes::exact, false, false, kLetter, 0, false, false, false};
constexpr Rules kCl100k{Rules::Suffixes::any_case, true, false, kLetter, 3, false, true, true};
constexpr Rules kLlama3{Rules::Suffixes::any_case, true, false, kLetter, 3, false, true, false};
constexpr Rules kQwen2{Rules::Suffixes::any_case, true, false, kLetter, 1, false, true, false};
constexpr Rules kQwen35{
    Rules::Suffixes::any_case, true, false, kLetter | kMark, 1, false, true, false};
constexpr Rules kO200k{Rules::Suffixes::after_words, true, true, kLetter, 3, true, true, false};

constexpr std::uint8_t kUpperPart = kUpper | kMark;
constexpr std::uint8_t kLowerPart = kLower | kMark;

constexpr bool is_line_break(char c) {
  return c == '\n' || c == '\r';
}

/// One text while it is cut; positions are byte offsets.
template <Rules kRules>
class Scan {
 public:
  explicit Scan(std::string_view text) : text_(text) {}

  std::size_t piece_end(std::size_t at) const {
    if constexpr (kRules.suffixes != Rules::Suffixes::after_words) {
      if (text_[at] == '\'') {
        if (const std::size_t bytes = suffix_bytes(at)) return at + bytes;
      }
    }
    const Seen first = see(at);
    if constexpr (kRules.any_prefix) {
      if (const std::size_t end = word_end(at, first)) return end;
      if (first.classes & kNumber) return number_end(at);
      if (is_symbol(first)) return symbols_end(at);
      if (text_[at] == ' ' && at + 1 < text_.size() && is_symbol(see(at + 1)))
        return symbols_end(at + 1);
      return space_end(at);
    } else {
      const bool after_space = text_[at] == ' ' && at + 1 < text_.size();
      const std::size_t start = after_space ? at + 1 : at;
      const Seen next = after_space ? see(start) : first;
      if (next.classes & kRules.word) return run_end(start, kRules.word);
      if (next.classes & kNumber) return run_end(start, kNumber);
      if (is_symbol(next)) return symbols_end(start);
      return space_end(at);
    }
  }

 private:
  struct Seen {
    std::uint8_t classes;
    std::size_t bytes;
  };

  Seen see(std::size_t at) const {
    const Character character = first_character(text_.data() + at);
    return {table_.classes(character.code), character.bytes};
  }

  static bool is_symbol(Seen seen) {
    return (seen.classes & (kSpace | kNumber | kRules.word)) == 0;
  }

  /// The end of the characters of `classes` from `at` on.
  std::size_t run_end(std::size_t at, std::uint8_t classes) const {
    while (at < text_.size()) {
      const Seen seen = see(at);
      if ((seen.classes & classes) == 0) break;
      at += seen.bytes;
    }
    return at;
  }

  /// The letter at `at` in lower case, the long s as s; of no other character is it one of these.
  char folded(std::size_t at, std::size_t& bytes) const {
    bytes = 1;
    if (at >= text_.size()) return 0;
    if (kRules.suffixes == Rules::Suffixes::exact) return text_[at];
    if (text_.substr(at, 2) == "\xC5\xBF") {
      bytes = 2;
      return 's';
    }
    const char c = text_[at];
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }

  /// Bytes of the 's, 't, 'd, 'm, 'll, 've or 're at `at`, where a quotation mark stands; or 0.
  std::size_t suffix_bytes(std::size_t at) const {
    std::size_t bytes = 0;
    const char first = folded(at + 1, bytes);
    if (first == 's' || first == 't' || first == 'd' || first == 'm') return 1 + bytes;
    const char wanted = first == 'l' ? 'l' : first == 'v' || first == 'r' ? 'e' : 0;
    if (wanted == 0) return 0;
    std::size_t second_bytes = 0;
    return folded(at + 2, second_bytes) == wanted ? 3 : 0;
  }

  /// The end of the word that begins here, perhaps after one other character; 0 when none does.
  std::size_t word_end(std::size_t at, Seen first) const {
    const bool may_be_prefix =
        (first.classes & (kLetter | kNumber)) == 0 && !is_line_break(text_[at]);
    if constexpr (!kRules.cased_words) {
      if (first.classes & kRules.word) return run_end(at + first.bytes, kRules.word);
      const std::size_t start = at + first.bytes;
      if (!may_be_prefix || start >= text_.size()) return 0;
      const Seen next = see(start);
      return next.classes & kRules.word ? run_end(start + next.bytes, kRules.word) : 0;
    } else {
      std::size_t end = 0;
      if (may_be_prefix) end = lower_word_end(at + first.bytes);
      if (end == 0) end = lower_word_end(at);
      if (end == 0 && may_be_prefix) end = upper_word_end(at + first.bytes);
      if (end == 0) end = upper_word_end(at);
      if (end == 0) return 0;
      return end < text_.size() && text_[end] == '\'' ? end + suffix_bytes(end) : end;
    }
  }

  /// [upper]*[lower]+ as a backtracking matcher finds it: where no lower part follows the upper
  /// ones, the last of them that counts as both (such as a Chinese character) is the lower part.
  std::size_t lower_word_end(std::size_t at) const {
    std::size_t both_end = 0;
    while (at < text_.size()) {
      const Seen seen = see(at);
      if ((seen.classes & kUpperPart) == 0) break;
      at += seen.bytes;
      if (seen.classes & kLowerPart) both_end = at;
    }
    const std::size_t end = run_end(at, kLowerPart);
    return end > at ? end : both_end;
  }

  /// [upper]+ where no lower part follows.
  std::size_t upper_word_end(std::size_t at) const {
    const std::size_t end = run_end(at, kUpperPart);
    return end > at ? end : 0;
  }

  std::size_t number_end(std::size_t at) const {
    for (int digits = 0; digits < kRules.longest_number && at < text_.size(); ++digits) {
      const Seen seen = see(at);
      if ((seen.classes & kNumber) == 0) break;
      at += seen.bytes;
    }
    return at;
  }

  std::size_t symbols_end(std::size_t at) const {
    while (at < text_.size()) {
      const Seen seen = see(at);
      if (!is_symbol(seen)) break;
      at += seen.bytes;
    }
    if constexpr (kRules.line_breaks) {
      while (at < text_.size() &&
             (is_line_break(text_[at]) || (kRules.slash_ends_symbols && text_[at] == '/'))) {
        ++at;
      }
    }
    return at;
  }

  /// \s*[\r\n]+|\s+(?!\S)|\s+ and its relatives.
  std::size_t space_end(std::size_t at) const {
    std::size_t end = at;
    std::size_t last_start = at;
    std::size_t line_end = 0;
    while (end < text_.size()) {
      const Seen seen = see(end);
      if ((seen.classes & kSpace) == 0) break;
      last_start = end;
      end += seen.bytes;
      if (is_line_break(text_[last_start])) line_end = end;
    }
    const bool is_last = end == text_.size();
    if (is_last && (kRules.whole_last_space || !kRules.line_breaks)) return end;
    if (kRules.line_breaks && line_end > 0) return line_end;
    return is_last || last_start == at ? end : last_start;
  }

  std::string_view text_;
  const UnicodeTable& table_ = UnicodeTable::instance();
};

template <Rules kRules>
class Scanner : public TextSplitter {
 public:
  void split(std::string_view text, std::vector<std::string_view>& pieces) const override {
    const Scan<kRules> scan(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = scan.piece_end(at);
      pieces.push_back(text.substr(at, end - at));
      at = end;
    }
  }
};

class DigitSplitter : public TextSplitter {
 public:
  explicit DigitSplitter(bool individual) : individual_(individual) {}

  void split(std::string_view text, std::vector<std::string_view>& pieces) const override {
    std::size_t start = 0;
    bool in_number = false;
    for (std::size_t at = 0; at < text.size();) {
      const Character character = first_character(text.data() + at);
      const bool is_number = (table_.classes(character.code) & kNumber) != 0;
      if (at > start && (is_number != in_number || (is_number && individual_))) {
        pieces.push_back(text.substr(start, at - start));
        start = at;
      }
      in_number = is_number;
      at += character.bytes;
    }
    if (start < text.size()) pieces.push_back(text.substr(start));
  }

 private:
  bool individual_;
  const UnicodeTable& table_ = UnicodeTable::instance();
};

}  // namespace

std::unique_ptr<TextSplitter> make_scanner(KnownPattern pattern) {
  switch (pattern) {
    case KnownPattern::gpt2:
      return std::make_unique<Scanner<kGpt2>>();
    case KnownPattern::cl100k:
      return std::make_unique<Scanner<kCl100k>>();
    case KnownPattern::llama3:
      return std::make_unique<Scanner<kLlama3>>();
    case KnownPattern::qwen2:
      return std::make_unique<Scanner<kQwen2>>();
    case KnownPattern::qwen35:
      return std::make_unique<Scanner<kQwen35>>();
    case KnownPattern::o200k:
      break;
  }
  return std::make_unique<Scanner<kO200k>>();
}

std::unique_ptr<TextSplitter> make_digit_splitter(bool individual) {
  return std::make_unique<DigitSplitter>(individual);
}

}  // namespace athanor
