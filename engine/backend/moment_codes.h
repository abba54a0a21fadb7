// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>

namespace athanor {

/// What the 256 codes of an 8-bit moment stand for, as shares of the largest in its block, rising:
/// the dynamic map of Dettmers et al., 2021. In each of seven decades the values divide [0.1, 1]
/// evenly, the more finely the larger they are.
struct MomentCodes {
  /// Numbers of equal sign, exponent and first seven bits of mantissa are one bucket; all smaller
  /// than 2^-23 are in the first, all from 1 on in the last.
  static constexpr int kBucket_shift = 16;
  static constexpr std::int32_t kFirst_bucket = 0x34000000 >> kBucket_shift;
  static constexpr std::int32_t kLast_bucket = 0x3F800000 >> kBucket_shift;
  static constexpr std::int32_t kBuckets = kLast_bucket - kFirst_bucket + 1;

  std::array<float, 256> values;
  /// Half-way between neighbours, then infinity: the nearest code of x is how many of these lie
  /// below x.
  std::array<float, 256> bounds;
  /// Of each bucket, positive ones first: how many bounds lie below all of it. At most one lies
  /// within, so that one comparison ends the search.
  std::array<std::int32_t, 2 * kBuckets> bounds_below;
};

/// For m: the same shares on both sides of 0, and 1.
const MomentCodes& signed_moment_codes();
/// For v: twice as fine, none below 0.
const MomentCodes& unsigned_moment_codes();

/// A block's scale is kept between these: beneath, moments vanish beside any ε and their shares
/// would lose bits; above there are no numbers.
inline constexpr float kLeast_moment_scale = 1e-30F;
inline constexpr float kMost_moment_scale = 3.4e38F;

}  // namespace athanor
