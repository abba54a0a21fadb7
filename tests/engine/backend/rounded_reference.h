// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/tensor/arena.h"
#include "tests/engine/backend/operation_tensors.h"

namespace athanor {

/// Runs `expected`, in f64, on the reference. Where the tested operation goes on from something
/// that it has rounded to bf16, the reference goes on from the same: AddNorm's sum, as `actual` has
/// it after it ran, and HeadLoss's logits, as Linear on the tested backend makes them of the same
/// chunks, since a product's sums follow from its shape alone.
void execute_rounded_reference(AnyOperation& expected, const AnyOperation& actual, Backend& tested,
                               Arena& arena);

}  // namespace athanor
