// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

namespace athanor::story {

/// The `index`-th story of a seed, one paragraph or two, without a line break at its end.
std::string tell_story(std::uint64_t seed, std::uint64_t index);

}  // namespace athanor::story
