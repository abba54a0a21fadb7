// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <string_view>

namespace athanor {

/// `text` as a gzip file's content.
std::string gzipped(std::string_view text);
/// `text` as a Zstandard frame.
std::string zstandard(std::string_view text);

}  // namespace athanor
