// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/backend/cuda/runtime.h"

namespace athanor::cuda {

/// The card that CUDA counts as `index`, with a stream for its work and one for copies beside it.
std::unique_ptr<Runtime> make_card_runtime(int index);

}  // namespace athanor::cuda
