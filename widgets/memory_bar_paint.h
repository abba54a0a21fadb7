// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The fills of the memory bar: hatches, swatches and the outline of what does not fit.

#include <QColor>
#include <QRect>

class QPainter;

namespace athanor {

/// Muted lines at 45° over raised.
void paintReserve(QPainter& painter, const QRect& area);
/// Border lines at −45°.
void paintOthers(QPainter& painter, const QRect& area);
/// A surface-coloured hatch inside a 2-px danger outline, over what is painted already.
void paintExcess(QPainter& painter, const QRect& area);
/// A rounded square of one colour.
void paintSwatch(QPainter& painter, const QRect& area, const QColor& colour);
/// Distance of the scale's figures, a power of two, so that there are at most six.
double memoryScaleStep_gib(double total_gib);

}  // namespace athanor
