// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace athanor {

/// The PCRE2 expression that matches what `expression` matches in Oniguruma, which `tokenizers`
/// uses: white space and categories are spelled out (so that they are of one Unicode version), and
/// the parts that the two libraries, or their versions, do
/// not surely understand alike are refused (unsupported, naming the part and its place): \w, \b,
/// \h, ^, $, nested classes, a possessive {n,m}+ and the like.
std::string pcre2_expression(std::string_view expression);

}  // namespace athanor
