// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// The table's rows for devices with FP8: its operations, and those that find a peak on the way.
std::vector<OperationCase> fp8_cases();

}  // namespace athanor
