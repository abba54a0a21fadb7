// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>

namespace athanor {

/// The words' exclusive or, read by the widest vectors there are; `count` is a multiple of 64.
std::uint64_t read_all(const std::uint64_t* words, std::int64_t count);

}  // namespace athanor
