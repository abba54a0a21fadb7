// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A conversation with one checkpoint, kept in the store turn by turn.

#include <QString>
#include <QVector>
#include <optional>

#include "engine/store/run_store.h"
#include "widgets/token_text.h"

namespace athanor {

struct Answer {
  QString text;
  QString note;                 ///< "64 tokens · 3,300 tokens/s"
  QVector<TextToken> tokens{};  ///< where they were asked for
};

/// A prompt and the answers it got, in the order they were given; one of them is shown.
struct Exchange {
  QString prompt;
  QVector<Answer> answers;
  int shown = 0;
};

/// Nothing is ever removed: another answer to the same prompt stands beside the first. All methods
/// that write throw Error.
class Conversation {
 public:
  explicit Conversation(RunStore* store) : m_store(store) {}

  const QVector<Exchange>& exchanges() const { return m_exchanges; }
  std::optional<qint64> id() const { return m_id; }
  void clear();
  void load(qint64 conversationId);

  /// The first prompt of all creates the conversation.
  void addPrompt(const QString& prompt, qint64 runId, qint64 step);
  /// To the prompt of `exchange`, which shows it from now on.
  void addAnswer(int exchange, const Answer& answer);
  void show(int exchange, int answer);

 private:
  RunStore* m_store;
  std::optional<qint64> m_id;
  QVector<Exchange> m_exchanges;
};

}  // namespace athanor
