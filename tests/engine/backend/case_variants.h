// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <vector>

#include "tests/engine/backend/operation_cases.h"

namespace athanor {

/// Of the cases that are there, also those with what a training pass gives besides: dropout's
/// streams and gradient scales that lie in tensors, and products behind gelu.
void add_variants(std::vector<OperationCase>& cases);

}  // namespace athanor
