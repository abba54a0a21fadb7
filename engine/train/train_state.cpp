// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "engine/base/json.h"
#include "engine/train/trainer.h"

namespace athanor {

Json train_state_to_json(const TrainState& state) {
  Json json{{"step", state.step},
            {"tokens", state.tokens},
            {"seconds", state.seconds},
            {"epoch", state.loader.epoch},
            {"window", state.loader.window},
            {"validation_loss", state.validation_loss}};
  if (state.best_step) {
    json["best_step"] = *state.best_step;
    json["best_loss"] = state.best_loss;
  }
  return json;
}

TrainState train_state_from_json(const Json& json, const std::string& place) {
  TrainState state;
  std::int64_t best_step = -1;
  try {
    SettingsReader reader(json, "");
    const Bounds from_zero{0, 9e15};
    reader("step", state.step, from_zero);
    reader("tokens", state.tokens, from_zero);
    reader("seconds", state.seconds, Bounds{0, 1e12});
    reader("epoch", state.loader.epoch, from_zero);
    reader("window", state.loader.window, from_zero);
    reader("validation_loss", state.validation_loss);
    reader("best_step", best_step, from_zero);
    reader("best_loss", state.best_loss);
    for (const char* needed : {"step", "tokens", "seconds", "epoch", "window"}) {
      if (!json.contains(needed)) {
        throw Error(ErrorKind::damaged, std::string("the field ") + needed + " is missing.");
      }
    }
  } catch (const Error& error) {
    throw Error(ErrorKind::damaged, place + " is damaged: " + error.message());
  }
  if (best_step >= 0) state.best_step = best_step;
  return state;
}

}  // namespace athanor
