// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/infer/scorer.h"
#include "engine/session/chat_session.h"
#include "engine/store/run_store.h"

namespace athanor {

enum class EvaluationKind { perplexity, choices, answers };
constexpr std::array<std::string_view, 3> names_of(EvaluationKind) {
  return {"perplexity", "choices", "answers"};
}

/// What came of asking one thing.
struct JudgedItem {
  std::string question;
  std::string expected;
  std::string given;
  bool right = false;
};
using JudgeCallback = std::function<void(const JudgedItem& item)>;

/// One measurement of a checkpoint on a file.
struct ModelMeasurement {
  EvaluationKind kind = EvaluationKind::perplexity;
  std::int64_t items = 0;  ///< tokens, or questions
  double value = 0;        ///< perplexity, or the share that is right
  /// Of perplexity bits per byte; of choices the share that is right when costs are divided by the
  /// choices' bytes; of answers 0.
  double second_value = 0;
};

/// exp of the mean nats per token over a UTF-8 text, walked once: each of its documents (see
/// DocumentWalker), with the end of text that ends it, follows the model's begin of text, and is
/// cut where it is longer than the context. Of models trained here that is their validation loss.
/// `begin_of_text` -1: documents follow an end of text.
ModelMeasurement measure_perplexity(Scorer& scorer, const Tokenizer& tokenizer,
                                    std::int32_t begin_of_text, const std::filesystem::path& text,
                                    const CancelToken& cancel, const ProgressCallback& progress);

/// Multiple choice by likelihood: of each question's choices the one whose tokens cost least after
/// the question. Records hold "question" (or "query", "prompt", "context"), "choices" (texts) and
/// "answer" (or "label", "gold": its number from 0, or its letter, or its text). With a chat
/// template the question is asked and a choice is the answer; without one, a choice follows it
/// after a space. Errors name file, line and what is wrong.
ModelMeasurement measure_choices(Scorer& scorer, const Tokenizer& tokenizer,
                                 std::int32_t begin_of_text, const ChatTemplate* chat,
                                 const std::filesystem::path& records, const CancelToken& cancel,
                                 const ProgressCallback& progress, const JudgeCallback& judge);

struct AnswerOptions {
  std::int64_t most_questions = 0;  ///< 0: all
  std::int64_t most_tokens = 256;   ///< of an answer
  /// Only questions that a fine-tuning run with this share held out.
  std::optional<double> held_out_fraction;
};
/// Exact match: the share of a file's questions whose most probable answer, token by token, is one
/// of the answers that the file has for it, white space at both ends apart. Equal questions count
/// once. Records as read_conversation takes them; what comes before the last answer is the
/// question. A question that leaves no room for an answer counts as wrong.
ModelMeasurement measure_answers(ChatSession& session, const std::filesystem::path& records,
                                 const AnswerOptions& options, const CancelToken& cancel,
                                 const ProgressCallback& progress, const JudgeCallback& judge);

/// A row for the store.
MeasurementRow row_of(const ModelMeasurement& measured, std::int64_t step, const std::string& file);

}  // namespace athanor
