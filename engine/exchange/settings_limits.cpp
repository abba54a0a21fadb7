// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/exchange/settings_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace athanor {

namespace {

constexpr std::int64_t kMostContext = 131'072;

void choose_context(ForeignSettings& settings, std::int64_t context, std::int64_t window,
                    const ForeignOptions& options, const std::string& place) {
  const std::int64_t whole = std::min(context, kMostContext);
  const std::int64_t most = window > 0 ? std::min(whole, window) : whole;
  if (options.context) {
    if (*options.context < kLeastContext || *options.context > most) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("The context must be between {} and {} tokens for {}; {} was asked "
                              "for.",
                              kLeastContext, most, place, *options.context));
    }
    settings.model.context = *options.context;
    return;
  }
  settings.model.context = std::min(most, kUsualContext);
  if (settings.model.context == context) return;
  settings.notices.push_back(
      settings.model.context < most
          ? fmt::format("The model was made for {} tokens at once and is imported for {}, which "
                        "takes less memory; the context can be chosen.",
                        context, settings.model.context)
          : fmt::format("The model was made for {} tokens at once and is imported for {}: beyond "
                        "{} it computes what this program does not.",
                        context, most, window > 0 ? "its sliding window" : "that"));
}

}  // namespace

void finish_settings(ForeignSettings& settings, std::int64_t context, std::int64_t window,
                     const ForeignOptions& options, const std::string& place) {
  choose_context(settings, context, window, options, place);
  try {
    check_model_config(settings.model);
  } catch (const Error& error) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("{} describes a model that cannot be built here: {}", place, error.message()));
  }
}

std::string unknown_kind(const std::string& place, const std::string& kind) {
  const std::string shown = kind.substr(0, 80);
  if (kind == "gpt2") {
    return place +
           " is a GPT-2 model. It has learned positions (n_positions), LayerNorm "
           "(layer_norm_epsilon) and biases on all of attention, which models here do not have. "
           "Choose a model of the kind llama, mistral, qwen2, qwen3 or arcee.";
  }
  return fmt::format(
      "{} is a model of the kind \"{}\". Choose one of the kind llama (SmolLM2 too), mistral, "
      "qwen2, qwen3 or arcee.",
      place, shown);
}

}  // namespace athanor
