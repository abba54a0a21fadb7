// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/session/chat_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/session/model_exchange.h"
#include "engine/session/run_checkpoint.h"
#include "engine/session/run_weights.h"

namespace athanor {

ChatSession::ChatSession(const std::filesystem::path& run_folder, std::optional<std::int64_t> step,
                         const BackendOptions& options, WeightFormat weights) {
  model_ = read_run_spec(run_folder).model;
  const RunWeights from = RunWeights::open(run_folder, step, notice_);
  step_ = from.step();
  tokenizer_ = std::make_unique<Tokenizer>(Tokenizer::load(run_folder / "tokenizer.json"));
  backend_ = make_backend(options);
  generator_ = std::make_unique<Generator>(model_, from.source(), *tokenizer_, *backend_, weights);
  generator_->begin_with(model_card_of(run_folder, *tokenizer_).begin_of_text);
}

ChatSession::ChatSession(ForeignModel foreign, const BackendOptions& options, WeightFormat weights)
    : model_(foreign.settings.model),
      backend_(make_backend(options)),
      tokenizer_(std::make_unique<Tokenizer>(std::move(foreign.tokenizer))),
      generator_(
          std::make_unique<Generator>(model_, foreign.weights, *tokenizer_, *backend_, weights)),
      notice_(fmt::format("{}", fmt::join(foreign.settings.notices, " "))) {
  generator_->begin_with(foreign.card.begin_of_text);
}

std::string ChatSession::weights_note() const {
  const int count = generator_->unquantised();
  if (count == 0) return {};
  return fmt::format(
      "{} of the model's matrices stay as saved: only rows of a multiple of {} "
      "numbers can be kept in few bits.",
      count, kBlock_elements);
}

}  // namespace athanor
