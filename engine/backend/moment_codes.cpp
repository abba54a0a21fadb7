// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/backend/moment_codes.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace athanor {
namespace {

std::int32_t bounds_below(const MomentCodes& codes, float x) {
  const auto first = std::lower_bound(codes.bounds.begin(), codes.bounds.end(), x);
  return static_cast<std::int32_t>(first - codes.bounds.begin());
}

void fill_buckets(MomentCodes& codes) {
  for (std::int32_t bucket = 0; bucket < MomentCodes::kBuckets; ++bucket) {
    const std::int32_t bits = (MomentCodes::kFirst_bucket + bucket) << MomentCodes::kBucket_shift;
    const std::int32_t next = bits + (1 << MomentCodes::kBucket_shift);
    const float low = bucket == 0 ? 0 : std::bit_cast<float>(bits);
    const bool last = bucket + 1 == MomentCodes::kBuckets;
    const float high = last ? std::numeric_limits<float>::max() : std::bit_cast<float>(next - 1);
    const auto at = static_cast<std::size_t>(bucket);
    codes.bounds_below[at] = bounds_below(codes, low);
    codes.bounds_below[at + MomentCodes::kBuckets] = bounds_below(codes, -high);
  }
}

MomentCodes make_codes(bool with_sign) {
  MomentCodes codes{moment_values(with_sign), {}};
  fill_buckets(codes);
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
