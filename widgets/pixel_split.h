// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Shares whole pixels among segments so that they sum exactly.

#include <QVector>
#include <cstdint>

namespace athanor {

/// Widths in px of segments of `bytes` on a bar where `total_bytes` fill `width_px`: largest
/// remainder, at least 2 px for each segment that is not empty where the room allows it.
/// The sum is the rounded width of the segments' own sum.
QVector<int> splitPixels(const QVector<std::int64_t>& bytes, std::int64_t total_bytes,
                         int width_px);

}  // namespace athanor
