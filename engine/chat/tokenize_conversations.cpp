// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/tokenize_conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>

#include "engine/base/checksum.h"
#include "engine/base/error.h"
#include "engine/data/example_shard.h"
#include "engine/data/progress_meter.h"
#include "engine/data/token_shard.h"

namespace athanor {

namespace {

/// One side, training or held out.
class Side {
 public:
  Side(const std::filesystem::path& folder, const std::string& name, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer),
        tokens_(folder / (name + ".tokens"), tokenizer.vocabulary_size(), tokenizer.fingerprint()),
        marks_(folder / (name + ".marks"), ExampleShard::kVocabulary, tokenizer.fingerprint()) {}

  void add(const EncodedChat& chat, const std::vector<std::uint8_t>& trained) {
    row_.clear();
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const bool counts = i > 0 && trained[i] != 0;
      row_.push_back(i == 0 ? ExampleShard::kFirst : counts ? ExampleShard::kTrained : 0);
      if (!counts) continue;
      ++trained_;
      bytes_ += static_cast<std::int64_t>(tokenizer_.token_bytes(chat.ids[i]).size());
    }
    tokens_.add_document(chat.ids);
    marks_.add_document(row_);
    ++examples_;
  }

  void finish() {
    tokens_.finish();
    marks_.finish();
  }

  std::int64_t examples() const { return examples_; }
  std::int64_t trained() const { return trained_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  const Tokenizer& tokenizer_;
  TokenShardWriter tokens_;
  TokenShardWriter marks_;
  std::vector<std::int32_t> row_;
  std::int64_t examples_ = 0;
  std::int64_t trained_ = 0;
  std::int64_t bytes_ = 0;
};

bool any_trained(const std::vector<std::uint8_t>& trained) {
  return trained.size() > 1 && std::any_of(trained.begin() + 1, trained.end(),
                                           [](std::uint8_t token) { return token != 0; });
}

/// Without its first question and answer; false when there is only one.
bool drop_turn(Dialogue& conversation) {
  auto& messages = conversation.messages;
  const std::ptrdiff_t first = messages.front().role == Role::system ? 1 : 0;
  if (std::ssize(messages) - first <= 2) return false;
  messages.erase(messages.begin() + first, messages.begin() + first + 2);
  return true;
}

struct Example {
  EncodedChat chat;
  std::vector<std::uint8_t> trained;
  bool shortened = false;
};

/// Nothing to train on where it is to be left out.
Example example_of(const ChatTemplate& chat, const ConversationOptions& options,
                   Dialogue conversation, std::int64_t& longest) {
  Example made{.chat = chat.encode(conversation, false), .trained = {}};
  // The last token is only a target.
  const auto most = static_cast<std::size_t>(options.context + 1);
  longest = std::max(longest, std::ssize(made.chat.ids));
  if (options.truncation == Truncation::drop_turns) {
    while (made.chat.ids.size() > most && drop_turn(conversation)) {
      made.chat = chat.encode(conversation, false);
      made.shortened = true;
    }
  }
  if (made.chat.ids.size() > most && options.truncation != Truncation::cut_end) return {};
  made.trained = trained_tokens(made.chat, conversation, options.loss);
  if (made.chat.ids.size() > most) {
    made.chat.ids.resize(most);
    made.trained.resize(most);
    made.shortened = true;
  }
  return made;
}

[[noreturn]] void refuse_side(const std::filesystem::path& path, const char* side,
                              const TokenizedConversations& made, std::int64_t context) {
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("{} leaves no token to {}: of its {} records {} were left out, because they are "
                  "longer than the context of {} tokens (the longest has {}) or nothing in them is "
                  "an answer to train. Choose a longer context, another way to shorten, or more "
                  "records.",
                  path.string(), side, made.records, made.left_out, context, made.longest_tokens));
}

}  // namespace

std::uint64_t question_key(const Dialogue& conversation) {
  std::string asked;
  for (const Message& message : conversation.messages) {
    if (message.role == Role::assistant) continue;
    asked += message.text + '\0' + message.input + '\0';
  }
  return checksum(std::as_bytes(std::span(asked)));
}

bool is_held_out(const Dialogue& conversation, std::uint64_t threshold) {
  return question_key(conversation) <= threshold;
}

std::uint64_t held_out_threshold(RecordFile& file, double fraction, const CancelToken& cancel,
                                 const ProgressCallback& progress) {
  ProgressMeter meter("Checking the records", file.bytes(), cancel, progress);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  file.restart();
  while (const auto record = file.next()) {
    const std::uint64_t sum = question_key(read_conversation(*record, file.place(*record)));
    least = std::min(least, sum);
    most = std::max(most, sum);
    meter.update(file.position());
  }
  meter.finish();
  if (least >= most) {
    throw Error(ErrorKind::invalid_argument,
                "There must be two different questions at least: one to train on, one to hold "
                "out. Add records.");
  }
  const auto asked = static_cast<std::uint64_t>(std::ldexp(fraction, 64));
  return std::clamp(asked, least, most - 1);
}

TokenizedConversations tokenize_conversations(const std::filesystem::path& path,
                                              const ChatTemplate& chat,
                                              const ConversationOptions& options,
                                              const std::filesystem::path& folder,
                                              const CancelToken& cancel,
                                              const ProgressCallback& progress) {
  RecordFile file(path);
  const std::uint64_t threshold =
      held_out_threshold(file, options.held_out_fraction, cancel, progress);
  ProgressMeter meter("Making examples of the records", file.bytes(), cancel, progress);
  TokenizedConversations made;
  Side train(folder, "train", chat.tokenizer());
  Side held_out(folder, "validation", chat.tokenizer());
  file.restart();
  while (const auto record = file.next()) {
    const Dialogue conversation = read_conversation(*record, file.place(*record));
    const Example example = example_of(chat, options, conversation, made.longest_tokens);
    ++made.records;
    if (!any_trained(example.trained)) {
      ++made.left_out;
    } else {
      made.shortened += example.shortened ? 1 : 0;
      (is_held_out(conversation, threshold) ? held_out : train).add(example.chat, example.trained);
    }
    meter.update(file.position());
  }
  meter.finish();
  if (train.trained() == 0) refuse_side(path, "train on", made, options.context);
  if (held_out.trained() == 0) refuse_side(path, "measure on", made, options.context);
  train.finish();
  held_out.finish();
  made.train_examples = train.examples();
  made.held_out_examples = held_out.examples();
  made.train_tokens = train.trained();
  made.held_out_tokens = held_out.trained();
  made.held_out_bytes = held_out.bytes();
  return made;
}

}  // namespace athanor
