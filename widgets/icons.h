// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The project's own icons, rendered from SVG at the screen's ratio with a 1.6-px stroke.
///
/// Names: plan run chat runs data settings play pause stop save sample check warning cross
/// chevron-right chevron-left chevron-down chevron-up send device clock copy refresh folder spark
/// info undo redo export pencil trash search plus follow lock. `spark` is the project's mark.

#include <QColor>
#include <QIcon>
#include <QString>
#include <QStringList>

#include "widgets/theme.h"

namespace athanor {

/// An icon whose colour follows the theme, also after a switch.
QIcon icon(const QString& name, Tone tone = Tone::text);
/// An icon of one fixed colour.
QIcon icon(const QString& name, const QColor& colour);

/// Every name icon() knows.
QStringList iconNames();

}  // namespace athanor
