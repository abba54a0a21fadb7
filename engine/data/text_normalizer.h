// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace athanor {

/// One change that a tokenizer makes to a text before it is cut.
struct NormalizerStep {
  enum class Kind {
    nfc,
    nfd,
    nfkc,
    nfkd,     ///< Unicode's normalization forms (Unicode Standard Annex 15)
    replace,  ///< every `from` becomes `to`
    prepend,  ///< `to` comes before a text that is not empty and has no `from` there
  };
  Kind kind;
  std::string from;
  std::string to;
  bool only_first = false;  ///< not after a special token in the text
};

/// Where a part of a text stands.
enum class TextPlace { first, after_token, inside };

/// Applies the steps in their order. `text` is UTF-8; so is what it becomes. Nothing is put before
/// what stands inside a text.
void normalize(const std::vector<NormalizerStep>& steps, std::string& text, TextPlace place);

}  // namespace athanor
