// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "engine/backend/backend.h"

namespace athanor::cuda {

/// What a plan for a card counts with; known without a card.
BackendTraits card_traits();

}  // namespace athanor::cuda
