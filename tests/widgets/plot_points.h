// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QVector>
#include <cmath>
#include <limits>
#include <random>

#include "widgets/plot_point.h"

namespace athanor {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
#ifdef ATHANOR_SANITIZED
inline constexpr int kMany = 100'000;
#else
inline constexpr int kMany = 1'000'000;
#endif

inline PlotPoint at(double step, double value) {
  return {step, step * 1000, step * 2, value};
}

inline QVector<PlotPoint> rising(int count, double value) {
  QVector<PlotPoint> points;
  for (int i = 1; i <= count; ++i)
    points << at(i, value);
  return points;
}

inline QVector<PlotPoint> noisy(int count) {
  std::mt19937 random(7);
  std::normal_distribution<double> jitter(0, 0.1);
  QVector<PlotPoint> points;
  points.reserve(count);
  for (int i = 1; i <= count; ++i) {
    points << at(i, 2.5 + 6 * std::exp(-8.0 * i / count) + jitter(random));
  }
  return points;
}

}  // namespace athanor
