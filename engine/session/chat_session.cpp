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
  take_template(model_card_of(run_folder, *tokenizer_));
}

ChatSession::ChatSession(ForeignModel foreign, const BackendOptions& options, WeightFormat weights)
    : model_(foreign.settings.model),
      backend_(make_backend(options)),
      tokenizer_(std::make_unique<Tokenizer>(std::move(foreign.tokenizer))),
      generator_(
          std::make_unique<Generator>(model_, foreign.weights, *tokenizer_, *backend_, weights)),
      notice_(fmt::format("{}", fmt::join(foreign.settings.notices, " "))) {
  take_template(foreign.card);
}

void ChatSession::take_template(const ModelCard& card) {
  generator_->begin_with(card.begin_of_text);
  if (card.chat_template.empty()) return;
  const auto say = [&](const std::string& sentence) {
    notice_ += (notice_.empty() ? "" : " ") + sentence;
  };
  const std::optional<DetectedStyle> found = detect_style(card.chat_template);
  if (!found) {
    return say(
        "This model's chat template is none of those that are known to the letter, so it continues "
        "text instead of answering.");
  }
  try {
    template_.emplace(found->style, *tokenizer_,
                      found->begins_with_token ? card.begin_of_text : -1);
  } catch (const Error& error) {
    say(error.message());
  }
}

Generation ChatSession::answer(Dialogue conversation, const SamplingOptions& options,
                               const CancelToken& cancel, const Generator::TextCallback& on_text) {
  if (!template_) {
    throw Error(ErrorKind::invalid_argument,
                "This model has no chat template: it continues text. Fine-tune it on examples, or "
                "let it go on with a text.");
  }
  std::vector<std::int32_t> ids = template_->encode(conversation, true).ids;
  const std::int64_t all_tokens = std::ssize(ids);
  std::vector<Message>& messages = conversation.messages;
  const std::ptrdiff_t first = messages.front().role == Role::system ? 1 : 0;
  while (std::ssize(ids) >= model_.context && std::ssize(messages) > first + 2) {
    messages.erase(messages.begin() + first, messages.begin() + first + 2);
    ids = template_->encode(conversation, true).ids;
  }
  if (std::ssize(ids) >= model_.context) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("This message has {} tokens as the model reads it, but the model sees "
                            "{} at once, with its answer. Write less.",
                            ids.size(), model_.context));
  }
  const std::int64_t dropped = all_tokens - std::ssize(ids);
  SamplingOptions sampling = options;
  sampling.stop_tokens.push_back(template_->end_of_answer());
  Generation made = generator_->generate(std::move(ids), sampling, cancel, on_text);
  made.dropped_prompt_tokens += dropped;
  return made;
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
