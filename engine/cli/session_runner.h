// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <functional>

#include "engine/cli/commands.h"
#include "engine/session/training_session.h"

namespace athanor {

using SessionCall = std::function<SessionEnd(TrainingSession&, TrainControl&, SessionObserver&)>;

/// Runs a training session with its progress shown and Ctrl+C attended to, tells how it ended and
/// returns the exit status. Throws what `call` throws.
int run_session(const GlobalOptions& global, const SessionCall& call);
/// The same for a new run.
int run_session(const GlobalOptions& global, const RunSpec& spec);

}  // namespace athanor
