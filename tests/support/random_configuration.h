// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/model_config.h"
#include "engine/train/train_config.h"

namespace athanor {

/// How many of them the planner's properties are tested on.
inline constexpr int kConfigurations = 200;

struct Configuration {
  ModelConfig model;
  TrainConfig train;

  std::string text() const;
};

/// Small, and of every kind that the settings allow; the same for the same number.
Configuration random_configuration(std::uint64_t number);

}  // namespace athanor
