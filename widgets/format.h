// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Numbers as the window writes them: C locale, comma thousands, minus U+2212, fixed decimals.
/// A value that is not finite reads "not finite"; a missing one is noValue().

#include <QString>
#include <cstdint>

namespace athanor {

QString noValue();                                ///< "–"
QString formatThousands(std::int64_t value);      ///< "11,900"
QString formatCount(double value);                ///< "977 M", "6.7 B", "41,216" below a million
QString formatFixed(double value, int decimals);  ///< "1,234.50", "−0.25"
QString formatLoss(double value);                 ///< "2.906"
QString formatLearningRate(double value);         ///< "2.80e-4"
QString formatPercent(double share, int decimals = 1);  ///< 0.68 → "68.0 %"
QString formatBytes(std::int64_t bytes);                ///< "512 B", "92.3 MiB", "1.02 GiB"
QString formatGib(std::int64_t bytes);                  ///< "13.32", no unit
QString formatDuration(double seconds);                 ///< "3 d 21 h", "2 min 05 s", "4.2 s"

/// Reads what the functions above write and what people type: "4,096", "6.7 B", "64k", "3e-4",
/// "−2". False leaves `value` alone.
bool parseNumber(const QString& text, double& value);

}  // namespace athanor
