// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/train/train_config.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace athanor {

namespace {

/// From `from` to `to` along half a cosine; `part` in [0, 1].
double cosine_between(double from, double to, double part) {
  return to + (from - to) * 0.5 * (1.0 + std::cos(std::numbers::pi * part));
}

double after_warmup(const TrainConfig& config, double part) {
  const double least = config.learning_rate * config.min_rate_ratio;
  constexpr double kDecayPart = 0.2;
  switch (config.schedule) {
    case Schedule::one_cycle:
      // The final rate is the starting one divided by 10⁴, as in the usual implementation.
      return cosine_between(config.learning_rate, config.learning_rate / 25.0 / 1e4, part);
    case Schedule::cosine:
      return cosine_between(config.learning_rate, least, part);
    case Schedule::linear:
      return config.learning_rate + (least - config.learning_rate) * part;
    case Schedule::warmup_stable_decay:
      return config.learning_rate +
             (least - config.learning_rate) * std::max(0.0, (part - (1 - kDecayPart)) / kDecayPart);
    case Schedule::constant:
      break;
  }
  return config.learning_rate;
}

}  // namespace

double learning_rate_at(const TrainConfig& config, std::int64_t step) {
  const double warmup = std::round(config.warmup_fraction * static_cast<double>(config.steps));
  const double done = static_cast<double>(step);
  if (done <= warmup) {
    if (config.schedule == Schedule::one_cycle) {
      return cosine_between(config.learning_rate / 25.0, config.learning_rate, done / warmup);
    }
    return config.learning_rate * done / warmup;
  }
  const double rest = static_cast<double>(config.steps) - warmup;
  return after_warmup(config, std::min(1.0, (done - warmup) / rest));
}

}  // namespace athanor
