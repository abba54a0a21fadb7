// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/base/json_fwd.h"

namespace athanor {

/// Parses `text`; on a mistake throws damaged "<name>, line L, column C: this is not valid JSON…".
Json parse_json(std::string_view text, const std::string& name);
KeyedJson parse_keyed_json(std::string_view text, const std::string& name);

/// Reads and parses a file of at most 64 MiB.
Json read_json_file(const std::filesystem::path& path);

}  // namespace athanor
