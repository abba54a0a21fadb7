// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Cases of the operations that have heads.
void add_attention_cases(std::vector<OperationCase>& cases);
/// Attention in shapes that matter to kernels with tiles of up to 64 rows: several tiles of each,
/// the last one not full, many documents, four heads on one key head, one row.
void add_tiled_attention_cases(std::vector<OperationCase>& cases);
void add_attention_benchmarks(std::vector<OperationCase>& cases);

}  // namespace athanor
