// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/data/expression_check.h"

#include <fmt/format.h>

#include "engine/base/error.h"
#include "engine/data/unicode_classes.h"

namespace athanor {

namespace {

/// White_Space; PCRE2's \s also has U+180E.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

class Translation {
 public:
  explicit Translation(std::string_view expression) : in_(expression) {}

  std::string run() {
    while (at_ < in_.size()) {
      if (in_class_) {
        class_item();
      } else {
        item();
      }
    }
    if (in_class_) refuse("[");
    return out_;
  }

 private:
  [[noreturn]] void refuse(std::string_view part) const {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("the pattern \"{}\" has \"{}\" at character {}, which Athanor cannot be sure "
                    "to cut text by as other programs do",
                    in_, part, at_ + 1));
  }

  bool follows(std::string_view part) const { return in_.substr(at_).starts_with(part); }
  void copy(std::size_t bytes) {
    out_ += in_.substr(at_, bytes);
    at_ += bytes;
  }

  void item() {
    const char c = in_[at_];
    if (c == '\\') {
      escape();
    } else if (c == '[') {
      copy(1);
      in_class_ = true;
      if (follows("^")) copy(1);
      if (follows("]")) refuse("[]");
    } else if (c == '(') {
      open_group();
    } else if (c == '{') {
      bounds();
    } else if (c == '^' || c == '$' || c == '#') {
      // Lines' ends for one library, the text's for the other; a comment for neither by default.
      refuse(in_.substr(at_, 1));
    } else {
      copy(1);
    }
  }

  void open_group() {
    if (!follows("(?")) {
      copy(1);
      return;
    }
    for (const std::string_view start : {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"}) {
      if (follows(start)) {
        copy(start.size());
        return;
      }
    }
    refuse(in_.substr(at_, 4));
  }

  /// {n}, {n,} or {n,m}; "+" behind it means another thing in each library.
  void bounds() {
    const std::size_t end = in_.find('}', at_);
    if (end == std::string_view::npos) refuse("{");
    const std::string_view inside = in_.substr(at_ + 1, end - at_ - 1);
    const bool plain = !inside.empty() && inside.front() != ',' &&
                       inside.find_first_not_of("0123456789,") == std::string_view::npos;
    if (!plain || (end + 1 < in_.size() && in_[end + 1] == '+'))
      refuse(in_.substr(at_, end - at_ + 2));
    copy(end - at_ + 1);
  }

  void escape() {
    if (at_ + 1 >= in_.size()) refuse("\\");
    const char c = in_[at_ + 1];
    if (c == 's' || c == 'S') {
      if (in_class_ && c == 'S') refuse("\\S");
      const std::string_view open = c == 's' ? "[" : "[^";
      if (!in_class_) out_ += open;
      out_ += kSpaces;
      if (!in_class_) out_ += ']';
      at_ += 2;
    } else if (c == 'p' || c == 'P' || c == 'd') {
      category();
    } else if (c == 'r' || c == 'n' || c == 't' || (c == 'z' && !in_class_) ||
               (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
               (c >= '{' && c <= '~')) {
      copy(2);
    } else if (c == 'u' &&
               in_.substr(at_ + 2, 4).find_first_not_of("0123456789abcdefABCDEF") ==
                   std::string_view::npos &&
               in_.size() >= at_ + 6) {
      out_ += "\\x{";
      out_ += in_.substr(at_ + 2, 4);
      out_ += '}';
      at_ += 6;
    } else if (c == 'x' && follows("\\x{")) {
      const std::size_t end = in_.find('}', at_);
      if (end == std::string_view::npos) refuse("\\x{");
      copy(end - at_ + 1);
    } else {
      refuse(in_.substr(at_, 2));
    }
  }

  /// \p{…}, \P{…} or \d in the program's own Unicode version.
  void category() {
    const bool is_digit = in_[at_ + 1] == 'd';
    const std::size_t end = is_digit ? at_ + 1 : in_.find('}', at_);
    if (end == std::string_view::npos || (!is_digit && in_[at_ + 2] != '{')) refuse("\\p");
    const std::string_view whole = in_.substr(at_, end - at_ + 1);
    const std::vector<CharacterRun> runs =
        characters_of(is_digit ? "Nd" : whole.substr(3, whole.size() - 4));
    const bool negated = in_[at_ + 1] == 'P';
    if (runs.empty() || (negated && in_class_)) refuse(whole);
    if (!in_class_) out_ += negated ? "[^" : "[";
    for (const CharacterRun& run : runs) {
      out_ += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", static_cast<std::uint32_t>(run.first),
                          static_cast<std::uint32_t>(run.last));
    }
    if (!in_class_) out_ += ']';
    at_ = end + 1;
  }

  void class_item() {
    const char c = in_[at_];
    if (c == '\\') {
      escape();
    } else if (c == ']') {
      copy(1);
      in_class_ = false;
    } else if (c == '[' || follows("&&")) {
      refuse(in_.substr(at_, 2));
    } else {
      copy(1);
    }
  }

  std::string_view in_;
  std::string out_;
  std::size_t at_ = 0;
  bool in_class_ = false;
};

}  // namespace

std::string pcre2_expression(std::string_view expression) {
  return Translation(expression).run();
}

}  // namespace athanor
