// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Cases of the operations on quantised weights and of what is trained beside frozen ones.
void add_frozen_cases(std::vector<OperationCase>& cases);
void add_frozen_benchmarks(std::vector<OperationCase>& cases);

}  // namespace athanor
