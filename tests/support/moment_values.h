// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

namespace athanor {

/// What the codes of 8-bit moments stand for, derived apart from the engine's, in double precision.
const std::vector<double>& signed_moment_values();
const std::vector<double>& unsigned_moment_values();

/// By comparing with every code.
int nearest_moment_code(const std::vector<double>& values, double share);

}  // namespace athanor
