// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace athanor {

/// Every place in the source tree under `root` that breaks a rule of the project's structure, as
/// "engine/data/bpe.cpp:3: includes engine/model, which data may not use". Looks at the .h, .cpp
/// and .cu files under engine/, widgets/, gui/ and tests/.
std::vector<std::string> broken_rules(const std::filesystem::path& root);

}  // namespace athanor
