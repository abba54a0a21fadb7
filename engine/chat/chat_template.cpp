// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine/chat/chat_template.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/data/token_encoder.h"
#include "engine/data/tokenizer_description.h"

namespace athanor {

namespace {

using Kind = ChatPiece::Kind;
constexpr std::string_view kBlanks = " \t\n\v\f\r";

const AddedToken* added_token(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<AddedToken>& added = tokenizer.description().added;
  const auto found = std::ranges::find(added, text, &AddedToken::content);
  return found == added.end() ? nullptr : &*found;
}

/// Text between two markers, and which bytes of it belong to what.
class Stretch {
 public:
  Stretch(const Tokenizer& tokenizer, EncodedChat& out)
      : tokenizer_(tokenizer), encoder_(tokenizer, false), out_(out) {}

  void add(const ChatPiece& piece) {
    std::string_view text = piece.text;
    if (strip_ && text_.empty())
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    parts_.push_back({text_.size(), text_.size() + text.size(), piece.message, piece.answer});
    text_ += text;
  }

  /// Encodes what there is; a marker follows, or nothing.
  void close(const AddedToken* marker) {
    if (marker != nullptr && marker->strips_left) text_.resize(text_.find_last_not_of(kBlanks) + 1);
    if (!text_.empty()) encode();
    text_.clear();
    parts_.clear();
    strip_ = marker != nullptr && marker->strips_right;
  }

  void add_token(std::int32_t id, const ChatPiece& piece) {
    out_.ids.push_back(id);
    out_.messages.push_back(piece.message);
    out_.answers.push_back(piece.answer ? 1 : 0);
    after_token_ = true;
  }

 private:
  struct Part {
    std::size_t begin;
    std::size_t end;
    int message;
    bool answer;
  };

  std::vector<std::int32_t> encoded(std::string_view text) {
    std::vector<std::int32_t> ids;
    encoder_.encode(text, ids, {.after_token = after_token_});
    return ids;
  }

  void encode() {
    const std::vector<std::int32_t> ids = encoded(text_);
    const std::size_t first = out_.ids.size();
    out_.ids.insert(out_.ids.end(), ids.begin(), ids.end());
    out_.messages.resize(out_.ids.size(), -1);
    out_.answers.resize(out_.ids.size(), 0);
    find_ends(ids);
    // An answer comes last where a token holds the end of one part and the start of the next.
    for (const bool answers : {false, true}) {
      for (const Part& part : parts_) {
        if (part.answer != answers || part.begin == part.end) continue;
        const std::size_t end = tokens_before(ids, part.end, true);
        for (std::size_t i = tokens_before(ids, part.begin, false); i < end; ++i) {
          out_.messages[first + i] = part.message;
          out_.answers[first + i] = answers ? 1 : 0;
        }
      }
    }
    after_token_ = false;
  }

  /// Where in the text each token ends, if tokens spell the text, perhaps after a blank.
  void find_ends(const std::vector<std::int32_t>& ids) {
    std::string spelled;
    ends_.clear();
    for (const std::int32_t id : ids) {
      spelled += tokenizer_.token_bytes(id);
      ends_.push_back(spelled.size());
    }
    if (spelled == text_) return;
    if (spelled == " " + text_) {
      for (std::size_t& end : ends_)
        --end;
      return;
    }
    ends_.clear();
  }

  /// Tokens that end at or before `byte`, and with `reaching` the one that it is in.
  std::size_t tokens_before(const std::vector<std::int32_t>& ids, std::size_t byte, bool reaching) {
    if (byte >= text_.size()) return ids.size();
    if (ends_.empty()) {
      const std::vector<std::int32_t> before = encoded(std::string_view(text_).substr(0, byte));
      const auto parted = std::ranges::mismatch(before, ids);
      const auto same = static_cast<std::size_t>(parted.in1 - before.begin());
      return reaching ? std::max(same, std::min(before.size(), ids.size())) : same;
    }
    const auto at =
        reaching ? std::ranges::lower_bound(ends_, byte) : std::ranges::upper_bound(ends_, byte);
    return static_cast<std::size_t>(at - ends_.begin()) + (reaching && byte > 0 ? 1 : 0);
  }

  const Tokenizer& tokenizer_;
  TokenEncoder encoder_;
  EncodedChat& out_;
  std::string text_;
  std::vector<Part> parts_;
  std::vector<std::size_t> ends_;
  bool strip_ = false;
  bool after_token_ = false;
};

[[noreturn]] void refuse(const std::string& sentence) {
  throw Error(ErrorKind::invalid_argument, sentence);
}

}  // namespace

ChatTemplate::ChatTemplate(ChatStyle style, const Tokenizer& tokenizer, std::int32_t begin_of_text)
    : style_(std::move(style)),
      tokenizer_(tokenizer),
      begin_of_text_(begin_of_text),
      end_of_answer_(tokenizer.end_of_text()) {
  for (const std::string& marker : needed_markers(style_.format)) {
    if (added_token(tokenizer, marker) != nullptr) continue;
    refuse(fmt::format(
        "The chat template {} needs the token {}, which this model's tokenizer does not have. "
        "Choose alpaca or plain, which need none of their own, or the template that the model was "
        "made with.",
        names_of(style_.format)[static_cast<std::size_t>(style_.format)], marker));
  }
  if (const std::string marker = athanor::end_of_answer(style_.format); !marker.empty())
    end_of_answer_ = added_token(tokenizer, marker)->id;
}

std::int32_t ChatTemplate::token_of(const ChatPiece& piece) const {
  switch (piece.kind) {
    case Kind::begin_of_text:
      return begin_of_text_;
    case Kind::end_of_text:
      return tokenizer_.end_of_text();
    default: {
      const AddedToken* const token = added_token(tokenizer_, piece.text);
      return token == nullptr ? -1 : token->id;
    }
  }
}

EncodedChat ChatTemplate::encode(const Dialogue& conversation, bool answer_follows) const {
  check_conversation(conversation, answer_follows);
  EncodedChat out;
  Stretch stretch(tokenizer_, out);
  for (const ChatPiece& piece : render_chat(style_, conversation, answer_follows)) {
    const std::int32_t id = piece.kind == Kind::text ? -1 : token_of(piece);
    if (id < 0) {
      stretch.add(piece);
      continue;
    }
    stretch.close(piece.kind == Kind::marker ? added_token(tokenizer_, piece.text) : nullptr);
    stretch.add_token(id, piece);
  }
  stretch.close(nullptr);
  return out;
}

std::vector<std::uint8_t> trained_tokens(const EncodedChat& chat, const Dialogue& conversation,
                                         LossOn loss) {
  const std::vector<Message>& messages = conversation.messages;
  std::vector<std::uint8_t> trained(chat.ids.size());
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const std::int32_t message = chat.messages[i];
    const bool weighs = message < 0 || messages[static_cast<std::size_t>(message)].trained;
    const bool last = message + 1 == static_cast<std::int32_t>(messages.size());
    const bool wanted =
        loss == LossOn::everything || (chat.answers[i] != 0 && (loss == LossOn::answers || last));
    trained[i] = weighs && wanted ? 1 : 0;
  }
  return trained;
}

void check_conversation(const Dialogue& conversation, bool answer_follows) {
  const std::vector<Message>& messages = conversation.messages;
  std::size_t first = 0;
  if (!messages.empty() && messages.front().role == Role::system) first = 1;
  if (messages.size() == first) refuse("there is no message of a user in it");
  for (std::size_t i = first; i < messages.size(); ++i) {
    const Role expected = (i - first) % 2 == 0 ? Role::user : Role::assistant;
    const Role role = messages[i].role;
    if (role != expected) {
      refuse(fmt::format("message {} is of the {}, where the {}'s turn is", i + 1,
                         names_of(role)[static_cast<std::size_t>(role)],
                         names_of(expected)[static_cast<std::size_t>(expected)]));
    }
    if (messages[i].text.empty() && messages[i].input.empty()) {
      refuse(fmt::format("message {}, the {}'s, is empty", i + 1,
                         names_of(role)[static_cast<std::size_t>(role)]));
    }
  }
  if (!answer_follows && messages.back().role == Role::user)
    refuse("it ends with a user's message that nothing answers");
}

}  // namespace athanor
