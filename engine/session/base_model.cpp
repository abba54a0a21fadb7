// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/base_model.h"

#include <fmt/format.h>

#include <system_error>

#include "engine/base/json.h"
#include "engine/session/model_exchange.h"

namespace athanor {

BaseModel open_base_model(const std::filesystem::path& home, std::int64_t run,
                          std::optional<std::int64_t> step) {
  const std::filesystem::path folder = run_folder_in(home, run);
  std::error_code error;
  if (!std::filesystem::exists(folder / "spec.json", error)) {
    throw Error(ErrorKind::not_found,
                fmt::format("There is no run {} to begin from: it may have been deleted. Choose "
                            "another.",
                            run));
  }
  std::string notice;
  Tokenizer tokenizer = Tokenizer::load(folder / "tokenizer.json");
  ModelCard card = model_card_of(folder, tokenizer);
  CheckpointFolder::Loaded checkpoint = load_run_checkpoint(folder, step, notice);
  return {.spec = read_run_spec(folder),
          .checkpoint = std::move(checkpoint),
          .tokenizer = std::move(tokenizer),
          .card = std::move(card),
          .notice = notice};
}

RunSpec fine_tuning_of(const BaseModel& base, std::int64_t run) {
  constexpr double kRate_share = 0.1;
  RunSpec spec{.name = base.spec.name + ", fine-tuned", .model = base.spec.model};
  spec.train = base.spec.imported_from.empty() ? base.spec.train : presets().front().spec.train;
  spec.train.learning_rate *= kRate_share;
  spec.start = {.run = run, .step = base.checkpoint.step};
  return spec;
}

ChatStyle usual_style(const BaseModel& base) {
  if (const auto found = detect_style(base.card.chat_template)) return found->style;
  // Alpaca's preamble alone takes dozens of tokens of a small tokenizer.
  constexpr std::int64_t kSmall_context = 512;
  const bool small = base.spec.model.context < kSmall_context;
  return {.format = small ? ChatFormat::plain : ChatFormat::alpaca, .system = {}};
}

void check_base_model(const BaseModel& base, const RunSpec& spec) {
  // Positions are rotations, so that the context is free.
  ModelConfig model = spec.model;
  model.context = base.spec.model.context;
  model.dropout = base.spec.model.dropout;
  if (settings_to_json(model) == settings_to_json(base.spec.model)) return;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("The model's shape is not that of run {}, whose weights are to be begun "
                          "with. Only its context and dropout can be changed.",
                          spec.start.run));
}

}  // namespace athanor
