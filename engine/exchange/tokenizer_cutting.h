// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/data/tokenizer_description.h"

namespace athanor {

/// llama.cpp's name ("tokenizer.ggml.pre") for the way in which a byte-level tokenizer cuts texts
/// into pieces, such as "gpt-2"; empty when it has none.
std::string cutting_name(const TokenizerDescription& description);

}  // namespace athanor
