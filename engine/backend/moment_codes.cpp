// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/moment_codes.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace athanor {
namespace {

MomentCodes make_codes(bool with_sign) {
  constexpr int kDecades = 7;
  constexpr double kLeast_decade = 1e-6;
  std::vector<double> values = {0, 1};
  double scale = kLeast_decade;
  for (int decade = 0; decade < kDecades; ++decade, scale *= 10) {
    const int parts = 1 << (with_sign ? decade : decade + 1);
    for (int part = 0; part < parts; ++part) {
      const double value = scale * (0.1 + 0.9 * (part + 0.5) / parts);
      values.push_back(value);
      if (with_sign) values.push_back(-value);
    }
  }
  std::sort(values.begin(), values.end());
  MomentCodes codes{};
  assert(values.size() == codes.values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    codes.values[i] = static_cast<float>(values[i]);
  for (std::size_t i = 0; i < codes.bounds.size(); ++i)
    codes.bounds[i] = static_cast<float>((values[i] + values[i + 1]) / 2);
  return codes;
}

}  // namespace

const MomentCodes& signed_moment_codes() {
  static const MomentCodes codes = make_codes(true);
  return codes;
}

const MomentCodes& unsigned_moment_codes() {
  static const MomentCodes codes = make_codes(false);
  return codes;
}

}  // namespace athanor
