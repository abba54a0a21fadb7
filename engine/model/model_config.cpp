// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

namespace athanor {

namespace {

/// A width of so many times this has many numbers of heads that fit.
constexpr std::int64_t kRoundWidth = 64;

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::invalid_argument, sentence);
}

/// The divisor of `value` nearest to `wanted`, among those that `fits` accepts.
template <class Fits>
std::optional<std::int64_t> nearest_divisor(std::int64_t value, std::int64_t wanted,
                                            const Fits& fits) {
  std::optional<std::int64_t> best;
  for (std::int64_t divisor = 1; divisor <= value; ++divisor) {
    if (value % divisor != 0 || !fits(divisor)) continue;
    if (!best || std::llabs(divisor - wanted) < std::llabs(*best - wanted)) best = divisor;
  }
  return best;
}

/// What to do about heads that do not fit the width.
std::string fitting_heads(const ModelConfig& config) {
  const auto fits = [&](std::int64_t heads) {
    const std::int64_t share = config.width / heads;
    return heads <= kMostHeads && share % 2 == 0 && share <= kMostHeadDim;
  };
  if (const auto heads = nearest_divisor(config.width, config.heads, fits)) {
    return fmt::format("The nearest number of heads that fits is {}.", *heads);
  }
  const std::int64_t rounded = (config.width + kRoundWidth / 2) / kRoundWidth * kRoundWidth;
  return fmt::format("No number of heads fits this width; choose another, such as {}.",
                     std::max(rounded, kRoundWidth));
}

void check_heads(const ModelConfig& config) {
  if (config.width % 2 != 0) {
    refuse(fmt::format("model.width must be an even number; it is {}. Choose {} or {}.",
                       config.width, config.width - 1, config.width + 1));
  }
  if (config.head_size > 0) {
    if (config.head_size % 2 == 0) return;
    refuse(fmt::format("model.head_size must be an even number; it is {}. Choose {} or {}.",
                       config.head_size, config.head_size - 1, config.head_size + 1));
  }
  if (config.width % config.heads != 0 || config.head_dim() % 2 != 0) {
    refuse(
        fmt::format("Each of the model.heads must get an equal, even share of model.width: {} "
                    "heads do not fit a width of {}. {}",
                    config.heads, config.width, fitting_heads(config)));
  }
  if (config.head_dim() > kMostHeadDim) {
    refuse(fmt::format("model.heads gives heads of {} elements; at most {} are supported. {}",
                       config.head_dim(), kMostHeadDim, fitting_heads(config)));
  }
}

}  // namespace

void check_model_config(const ModelConfig& config) {
  check_settings(config, "model");
  check_heads(config);
  if (config.heads % config.kv_heads != 0) {
    const auto kv_heads =
        nearest_divisor(config.heads, config.kv_heads, [](std::int64_t) { return true; });
    refuse(
        fmt::format("model.kv_heads must divide model.heads: {} do not divide {}. The nearest "
                    "number that does is {}.",
                    config.kv_heads, config.heads, kv_heads.value_or(1)));
  }
}

}  // namespace athanor
