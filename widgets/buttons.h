// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The three kinds of button and the square icon button; each has an accessible name.

#include <QPushButton>
#include <QString>
#include <QToolButton>

namespace athanor {

/// Accent fill, semibold; one a page. `iconName` may be empty.
QPushButton* primaryButton(const QString& text, const QString& iconName = {},
                           QWidget* parent = nullptr);
/// Raised fill in dark, surface with an edge in light.
QPushButton* plainButton(const QString& text, const QString& iconName = {},
                         QWidget* parent = nullptr);
/// Muted text without a frame.
QPushButton* flatButton(const QString& text, const QString& iconName = {},
                        QWidget* parent = nullptr);
/// An icon alone, 30×30 framed or 24×24 flat; `name` is its tooltip and accessible name.
QToolButton* iconButton(const QString& iconName, const QString& name, bool framed = false,
                        QWidget* parent = nullptr);
/// 40 px high, as on the first-run page.
void makeTall(QPushButton* button);

}  // namespace athanor
