// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cmath>

#include "engine/backend/operations.h"

namespace athanor {

/// What one update of AdamW multiplies with, the same for all elements and on every device.
struct AdamWFactors {
  float keep = 1;     ///< 1 − rate · decay
  float rate = 0;     ///< learning rate / bias correction of m
  float v_scale = 1;  ///< 1 / bias correction of v
  float gradient = 1;
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
};

inline AdamWFactors adamw_factors(const AdamWStep& at) {
  const auto step = static_cast<double>(at.step);
  const double m_correction = 1 - std::pow(static_cast<double>(at.beta1), step);
  const double v_correction = 1 - std::pow(static_cast<double>(at.beta2), step);
  return {.keep = static_cast<float>(1 - static_cast<double>(at.learning_rate) * at.decay),
          .rate = static_cast<float>(at.learning_rate / m_correction),
          .v_scale = static_cast<float>(1 / v_correction),
          .gradient = at.gradient_scale,
          .beta1 = at.beta1,
          .beta2 = at.beta2,
          .epsilon = at.epsilon};
}

}  // namespace athanor
