// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace athanor {

/// Keeps the order in which fields were written. Declared only: json.h has the whole of both.
using Json = nlohmann::ordered_json;
/// For objects of many fields: finding one takes logarithmic time, where Json's takes linear.
using KeyedJson = nlohmann::json;

}  // namespace athanor
