// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace athanor {

/// Long work tells how far it is: what it does ("Reading the text"), done and total in its own unit
/// (bytes unless it says otherwise). Called from the working thread, at most some times a second.
using ProgressCallback =
    std::function<void(const std::string& stage, std::int64_t done, std::int64_t total)>;

}  // namespace athanor
