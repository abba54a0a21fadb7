// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// How the window shows a run's state.

#include <QString>

#include "engine/store/run_store.h"
#include "widgets/badge.h"

namespace athanor {

BadgeKind badgeOf(RunStatus status);
/// The same, but for an imported model, which was finished elsewhere.
BadgeKind badgeOf(const RunRecord& record);
/// Someone trains it, or prepares to.
bool isLive(RunStatus status);
/// It ended before its last step and can be taken up again from a checkpoint.
bool isResumable(const RunRecord& record);
/// The other program's file that a run's model is from; empty for one trained here.
QString importedFrom(const RunRecord& record);
/// What a run learns from: "built-in stories", "my-text.txt" or "3 sources".
QString dataText(const RunRecord& record);
/// The curve colour and line pattern of a run, 1…8; the same everywhere.
int seriesOf(std::int64_t runId);
/// "30 Nov, 14:02", or "30 Nov 2025" of another year.
QString dateText(std::int64_t ms);

}  // namespace athanor
