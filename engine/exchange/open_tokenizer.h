// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>
#include <string>

#include "engine/data/tokenizer.h"

namespace athanor {

/// The tokenizer in whatever Tokenizer::load takes, or in a GGUF file. Throws what these throw.
Tokenizer open_tokenizer(const std::filesystem::path& path, const std::string& pattern = {});

}  // namespace athanor
