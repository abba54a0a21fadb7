// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <algorithm>
#include <limits>

#include "engine/backend/backend.h"
#include "engine/base/clock.h"

namespace athanor {

/// Seconds that one of several calls in a row takes on a card: the best of three rounds, each of a
/// twentieth of a second or more. Right for what takes the card longer than the call itself.
template <class Call>
double seconds_on_card(Backend& backend, const Call& call) {
  const auto seconds = [&](int times) {
    backend.wait();
    const Stopwatch watch;
    for (int i = 0; i < times; ++i)
      call();
    backend.wait();
    return watch.seconds() / times;
  };
  static_cast<void>(seconds(1));
  const double once = std::max(seconds(1), 1e-7);
  const int times = std::clamp(static_cast<int>(0.05 / once), 1, 2000);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i)
    best = std::min(best, seconds(times));
  return best;
}

}  // namespace athanor
