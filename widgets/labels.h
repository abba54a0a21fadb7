// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Labels in the theme's fonts and tones; plain text, selectable where said.

#include <QLabel>

#include "widgets/theme.h"

namespace athanor {

/// A plain-text label; the tone follows the theme. Word wrap is off.
QLabel* makeLabel(const QString& text, FontRole role = FontRole::body, Tone tone = Tone::text,
                  QWidget* parent = nullptr);
/// The same with word wrap, for sentences.
QLabel* makeSentence(const QString& text, FontRole role = FontRole::body, Tone tone = Tone::text,
                     QWidget* parent = nullptr);
/// Changes the tone of any label, also a NumberLabel.
void setTone(QLabel* label, Tone tone);

}  // namespace athanor
