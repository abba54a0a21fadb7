// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Steps of AdamW, with moments in FP32 and in 8 bits, and of Muon, with weights kept in every way.
void add_optimizer_cases(std::vector<OperationCase>& cases);

/// The same in one large step each.
void add_optimizer_benchmarks(std::vector<OperationCase>& cases);

}  // namespace athanor
