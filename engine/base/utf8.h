// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstddef>
#include <string_view>

namespace athanor {

/// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above U+10FFFF.

/// Bytes (1…4) of the character that starts at `offset`, or 0 when no valid one does.
std::size_t utf8_character_bytes(std::string_view text, std::size_t offset);

/// Bytes from the text's start on that are UTF-8.
std::size_t utf8_prefix_bytes(std::string_view text);

/// Whether the whole text is.
bool is_utf8(std::string_view text);

/// The first place at or after `offset` where a character may start, at most the text's end.
std::size_t next_character_start(std::string_view text, std::size_t offset);

}  // namespace athanor
