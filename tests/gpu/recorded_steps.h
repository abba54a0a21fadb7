// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>

#include "engine/backend/backend.h"

namespace athanor {

/// What stays as it was in the first micro-batch, as if a recording had it as an argument.
enum class Stale { nothing, gradient_scale, micro_step };

/// Takes a few steps of a small model, launched one by one and recorded: micro-batches with
/// gradient scales of their own, dropout, evaluations in between. What is wrong with the recorded
/// ones; empty when they have the same bits.
std::string problem_of_recording(Backend& backend, Stale stale = Stale::nothing);

}  // namespace athanor
