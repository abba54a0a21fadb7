// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/backend.h"

namespace athanor::cuda {

/// The first compute capabilities with BF16, which training needs, and with FP8.
inline constexpr double kFirst_bf16 = 8.0;
inline constexpr double kFirst_fp8 = 8.9;

/// What a plan for a card counts with; known without a card.
BackendTraits card_traits(double compute_capability = kFirst_bf16);

}  // namespace athanor::cuda
