// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The colours, fonts and style sheet of the window, in a light and a dark appearance.

#include <QColor>
#include <QFont>
#include <QVector>
#include <array>

class QApplication;

namespace athanor {

enum class Appearance { light, dark };

/// One of the eight curve colours; a run keeps its series everywhere.
struct Series {
  QColor colour;
  QColor label;           ///< text colour inside a segment of `colour`
  QVector<qreal> dashes;  ///< on and off lengths in px at width 1; empty is solid
  qreal width_px = 2.2;   ///< line width in an overlay
};

inline constexpr int kSeriesCount = 8;

struct Theme {
  Appearance appearance = Appearance::light;
  QColor background, surface, raised;
  QColor border, edge, grid;
  QColor text, muted;
  QColor accent, onAccent, accentHover;
  QColor success, warning, danger, info;
  std::array<Series, kSeriesCount> series;
};

/// A colour that follows the theme; what icons, labels and badges are given.
enum class Tone { text, muted, accent, onAccent, success, warning, danger, info };

/// Sizes in px: title 20 semibold, firstRun 28, figure 22 and figureSmall 18 semibold, body 13,
/// emphasis 13 semibold, note 12, axis 11, chat 13 (set in 22-px lines by TextBlock).
enum class FontRole { title, firstRun, figure, figureSmall, body, emphasis, note, axis, chat };

/// The theme of one appearance, applied or not.
const Theme& themeFor(Appearance appearance);

/// The theme in use; light before applyTheme().
const Theme& theme();

/// Sets style, palette, font and style sheet, then emits ThemeNotifier::changed(). Call it again at
/// any time to switch. The first call also installs the wheel guard and the keyboard focus ring.
void applyTheme(QApplication& app, Appearance appearance);

/// What the desktop prefers, judged by the lightness of the application's standard palette.
Appearance systemAppearance();

QFont themedFont(FontRole role);
QColor toneColour(Tone tone);

/// Series 1…8 as the design numbers them; other numbers wrap around.
const Series& seriesStyle(int number);

/// `share` (0…1) of `over` mixed over `under`, opaque.
QColor mixed(const QColor& over, const QColor& under, double share);
/// A selected row: accent over surface, 14 % dark and 10 % light.
QColor selectedTint();
/// A banner: 8 % of its colour over surface.
QColor bannerTint(const QColor& colour);
/// WCAG 2 contrast ratio, 1…21.
double contrastRatio(const QColor& a, const QColor& b);

}  // namespace athanor
