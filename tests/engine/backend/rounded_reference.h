// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>

#include "engine/tensor/arena.h"
#include "tests/engine/backend/operation_tensors.h"

namespace athanor {

/// Runs `expected`, in f64, on the reference. Where the tested operation goes on from something
/// that it has rounded to bf16, the reference goes on from the same: AddNorm's sum, as `actual` has
/// it after it ran, and HeadLoss's logits, as Linear on the tested backend makes them of the same
/// chunks, since a product's sums follow from its shape alone. Likewise with x of QuantisedLinear
/// where a processor has put it into codes, and, in bf16, with dropout(x), h and d_h of Lora.
void execute_rounded_reference(AnyOperation& expected, const AnyOperation& actual, Backend& tested,
                               Arena& arena);

/// Puts the logits of `count` rows of a HeadLoss, from `first` on, into `to` [count, V].
using MakeLogits = std::function<void(std::int64_t first, std::int64_t count, const Tensor& to)>;
/// The same for a backend whose memory only it can read.
void execute_rounded_reference(AnyOperation& expected, const AnyOperation& actual,
                               const MakeLogits& make_logits, Arena& arena);

}  // namespace athanor
