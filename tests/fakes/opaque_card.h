// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>

#include "engine/backend/backend.h"

namespace athanor {

/// `inner` with memory that only its operations can read, as a card's: whatever else of the process
/// touches it ends as a program does that reads a card's memory itself.
std::unique_ptr<Backend> make_opaque(std::unique_ptr<Backend> inner);

}  // namespace athanor
