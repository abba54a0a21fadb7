// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace athanor {

/// Keeps the order in which fields were written. Declared only: json.h has the whole of it.
using Json = nlohmann::ordered_json;

}  // namespace athanor
