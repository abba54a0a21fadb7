// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/exchange/foreign_model.h"

namespace athanor {

/// Chooses the context of a model made for `context` tokens, of which each sees at most the last
/// `window` (0: all before it), and checks the whole. Errors name `place`.
void finish_settings(ForeignSettings& settings, std::int64_t context, std::int64_t window,
                     const ForeignOptions& options, const std::string& place);

/// The sentence that refuses an unknown kind of model.
std::string unknown_kind(const std::string& place, const std::string& kind);

}  // namespace athanor
