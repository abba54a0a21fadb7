// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "engine/base/cancel_token.h"
#include "engine/chat/chat_template.h"
#include "engine/chat/conversation_file.h"
#include "engine/data/progress.h"

namespace athanor {

/// What becomes of a conversation longer than the context.
enum class Truncation {
  leave_out,   ///< it is not trained
  cut_end,     ///< its first tokens are kept
  drop_turns,  ///< its earliest turns are left out until the rest fits; its system's message stays
};
constexpr std::array<std::string_view, 3> names_of(Truncation) {
  return {"leave_out", "cut_end", "drop_turns"};
}

struct ConversationOptions {
  LossOn loss = LossOn::answers;
  Truncation truncation = Truncation::leave_out;
  std::int64_t context = 0;
  double held_out_fraction = 0;
};

/// What was made of a file of conversations.
struct TokenizedConversations {
  std::int64_t records = 0;
  std::int64_t train_examples = 0;
  std::int64_t held_out_examples = 0;
  std::int64_t shortened = 0;
  std::int64_t left_out = 0;  ///< too long, or without a trained token once shortened
  std::int64_t longest_tokens = 0;
  std::int64_t train_tokens = 0;  ///< that are trained
  std::int64_t held_out_tokens = 0;
  std::int64_t held_out_bytes = 0;  ///< of text behind those
};

/// Follows from what was asked alone.
std::uint64_t question_key(const Dialogue& conversation);
/// Whether a conversation is held out: by what was asked, so that the same question is never on
/// both sides. `threshold` is of held_out_threshold().
bool is_held_out(const Dialogue& conversation, std::uint64_t threshold);
/// Such that the fraction is held out, and one question at least. Reads the whole file; throws what
/// read_conversation throws, and invalid_argument for a file with fewer than two questions.
std::uint64_t held_out_threshold(RecordFile& file, double fraction, const CancelToken& cancel,
                                 const ProgressCallback& progress);

/// Writes <folder>/{train,validation}.tokens with a document for each conversation, and .marks
/// (ExampleShard). Throws what reading the records throws, and invalid_argument when a side has no
/// trained token, naming why.
TokenizedConversations tokenize_conversations(const std::filesystem::path& path,
                                              const ChatTemplate& chat,
                                              const ConversationOptions& options,
                                              const std::filesystem::path& folder,
                                              const CancelToken& cancel,
                                              const ProgressCallback& progress = {});

}  // namespace athanor
