// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace athanor {

/// What the 256 codes of an 8-bit moment stand for, as shares of the largest in its block, rising:
/// the dynamic map of Dettmers et al., 2021. In each of seven decades the values divide [0.1, 1]
/// evenly, the more finely the larger they are.
struct MomentValues {
  std::array<float, 256> values{};
  /// Half-way between neighbours, then infinity: the nearest code of x is how many of these lie
  /// below x.
  std::array<float, 256> bounds{};
};

/// Without a sign twice as fine, and none below 0; 1 is in both.
constexpr MomentValues moment_values(bool with_sign) {
  constexpr int kDecades = 7;
  constexpr double kLeast_decade = 1e-6;
  std::array<double, 256> values{};
  std::size_t count = 0;
  values[count++] = 0;
  values[count++] = 1;
  double scale = kLeast_decade;
  for (int decade = 0; decade < kDecades; ++decade, scale *= 10) {
    const int parts = 1 << (with_sign ? decade : decade + 1);
    for (int part = 0; part < parts; ++part) {
      const double value = scale * (0.1 + 0.9 * (part + 0.5) / parts);
      values[count++] = value;
      if (with_sign) values[count++] = -value;
    }
  }
  std::sort(values.begin(), values.end());
  MomentValues codes;
  for (std::size_t i = 0; i < values.size(); ++i)
    codes.values[i] = static_cast<float>(values[i]);
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    codes.bounds[i] = static_cast<float>((values[i] + values[i + 1]) / 2);
  codes.bounds.back() = std::numeric_limits<float>::infinity();
  return codes;
}

/// The same with a short way to the nearest code for processors.
struct MomentCodes : MomentValues {
  /// Numbers of equal sign, exponent and first seven bits of mantissa are one bucket; all smaller
  /// than 2^-23 are in the first, all from 1 on in the last.
  static constexpr int kBucket_shift = 16;
  static constexpr std::int32_t kFirst_bucket = 0x34000000 >> kBucket_shift;
  static constexpr std::int32_t kLast_bucket = 0x3F800000 >> kBucket_shift;
  static constexpr std::int32_t kBuckets = kLast_bucket - kFirst_bucket + 1;

  /// Of each bucket, positive ones first: how many bounds lie below all of it. At most one lies
  /// within, so that one comparison ends the search.
  std::array<std::int32_t, 2 * kBuckets> bounds_below;
};

/// For m.
const MomentCodes& signed_moment_codes();
/// For v.
const MomentCodes& unsigned_moment_codes();

/// A block's scale is kept between these: beneath, moments vanish beside any ε and their shares
/// would lose bits; above there are no numbers.
inline constexpr float kLeast_moment_scale = 1e-30F;
inline constexpr float kMost_moment_scale = 3.4e38F;

}  // namespace athanor
