// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model_config.h"

#include <cmath>
#include <cstdlib>
#include <string>

namespace athanor {

namespace {

/// The divisor of `value` nearest to `wanted`, among those that `fits` accepts.
template <class Fits>
std::int64_t nearest_divisor(std::int64_t value, std::int64_t wanted, const Fits& fits) {
  std::int64_t best = 1;
  for (std::int64_t divisor = 1; divisor <= value; ++divisor) {
    if (value % divisor != 0 || !fits(divisor)) continue;
    if (std::llabs(divisor - wanted) < std::llabs(best - wanted)) best = divisor;
  }
  return best;
}

}  // namespace

void check_model_config(const ModelConfig& config) {
  check_settings(config, "model");
  const auto even_head = [&](std::int64_t heads) { return (config.width / heads) % 2 == 0; };
  if (config.width % config.heads != 0 || !even_head(config.heads)) {
    const std::int64_t heads = nearest_divisor(config.width, config.heads, even_head);
    throw Error(
        ErrorKind::invalid_argument,
        "model.heads must divide model.width into even parts: " + std::to_string(config.heads) +
            " heads do not fit a width of " + std::to_string(config.width) +
            ". The nearest number that does is " + std::to_string(heads) + ".");
  }
  if (config.heads % config.kv_heads != 0) {
    const std::int64_t kv_heads =
        nearest_divisor(config.heads, config.kv_heads, [](std::int64_t) { return true; });
    throw Error(ErrorKind::invalid_argument,
                "model.kv_heads must divide model.heads: " + std::to_string(config.kv_heads) +
                    " do not divide " + std::to_string(config.heads) +
                    ". The nearest number that does is " + std::to_string(kv_heads) + ".");
  }
  if (config.head_dim() > 256) {
    throw Error(ErrorKind::invalid_argument,
                "model.heads gives heads of " + std::to_string(config.head_dim()) +
                    " elements; at most 256 are supported. Use more heads.");
  }
}

}  // namespace athanor
