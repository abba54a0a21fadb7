// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/products.h"
#include "engine/backend/cuda/runtime.h"

namespace athanor::cuda {

/// Rows of values and weights are bf16, sums FP32. Each bf16 value is rounded once, but for
/// gradients of weights in bf16: the LM head's after each chunk. Attention rounds its
/// probabilities, and their gradients, to bf16 before it multiplies by them. The same inputs give
/// the same bits on the same kind of card. Memory that operations work on comes from allocate(),
/// and nothing else is allocated on the card.
std::unique_ptr<Backend> make_backend_on(std::unique_ptr<Runtime> runtime,
                                         std::unique_ptr<Products> products);

}  // namespace athanor::cuda
