// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/pixel_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace athanor {
namespace {

constexpr int kLeast_px = 2;

/// Gives every segment that is not empty its least width, taken from the widest.
void raiseToLeast(QVector<int>& widths, const QVector<std::int64_t>& bytes) {
  for (int i = 0; i < widths.size(); ++i) {
    while (bytes[i] > 0 && widths[i] < kLeast_px) {
      const auto widest = std::max_element(widths.begin(), widths.end());
      if (*widest <= kLeast_px) return;
      --*widest;
      ++widths[i];
    }
  }
}

}  // namespace

QVector<int> splitPixels(const QVector<std::int64_t>& bytes, std::int64_t total_bytes,
                         int width_px) {
  QVector<int> widths(bytes.size(), 0);
  if (total_bytes <= 0 || width_px <= 0) return widths;
  QVector<double> rest(bytes.size(), 0);
  double sum = 0;
  int given = 0;
  for (int i = 0; i < bytes.size(); ++i) {
    const double exact = static_cast<double>(bytes[i]) * width_px / total_bytes;
    widths[i] = static_cast<int>(std::floor(exact));
    rest[i] = exact - widths[i];
    sum += exact;
    given += widths[i];
  }
  QVector<int> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rest[a] > rest[b]; });
  const int missing = static_cast<int>(std::lround(sum)) - given;
  for (int i = 0; i < missing; ++i)
    ++widths[order[i % order.size()]];
  raiseToLeast(widths, bytes);
  return widths;
}

}  // namespace athanor
