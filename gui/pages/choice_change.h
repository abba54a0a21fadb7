// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What another choice would change, in a few words, and which can be chosen.

#include <QComboBox>
#include <QString>
#include <optional>

#include "gui/run/estimator.h"

namespace athanor {

/// "−34.6 MiB, −2 % speed": of memory and speed beside the estimate's; empty where nothing changes
/// or the choice cannot be used.
QString changeOf(const std::optional<ChoiceCost>& cost, const Estimate& estimate);

/// Whether the choice of Products has FP8 to choose; why not, when it has not.
void offerFp8(QComboBox& products, bool offered);

}  // namespace athanor
