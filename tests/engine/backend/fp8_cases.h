// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// The whole table for a device: with FP8, its operations too, and those that find a peak on the
/// way.
std::vector<OperationCase> cases_for(const BackendTraits& traits);

}  // namespace athanor
