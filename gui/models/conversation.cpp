// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/models/conversation.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "gui/models/answer_tokens.h"

namespace athanor {
namespace {

constexpr int kTitleLength = 60;

}  // namespace

void Conversation::clear() {
  m_id.reset();
  m_exchanges.clear();
}

void Conversation::load(qint64 conversationId) {
  const std::vector<TurnRow> turns = m_store->turns(conversationId);
  clear();
  m_id = conversationId;
  for (const TurnRow& turn : turns) {
    const QString text = QString::fromStdString(turn.text);
    if (turn.role == "prompt") {
      m_exchanges.push_back({text, {}, 0});
    } else if (!m_exchanges.isEmpty()) {
      Exchange& exchange = m_exchanges.back();
      exchange.answers.push_back(
          {text, QString::fromStdString(turn.note), tokensFromText(turn.tokens, text.size())});
      exchange.shown = static_cast<int>(exchange.answers.size()) - 1;
    }
  }
}

void Conversation::addPrompt(const QString& prompt, qint64 runId, qint64 step) {
  if (!m_id) {
    m_id = m_store->create_conversation(
        {.run_id = runId,
         .checkpoint_step = step,
         .created_ms = now_ms(),
         .title = prompt.simplified().left(kTitleLength).toStdString()});
  }
  m_store->append(*m_id, TurnRow{.role = "prompt", .text = prompt.toStdString(), .note = {}});
  m_exchanges.push_back({prompt, {}, 0});
}

void Conversation::addAnswer(int exchange, const Answer& answer) {
  Exchange& asked = m_exchanges[exchange];
  // The store knows turns by their order alone: an answer to an earlier prompt follows it again.
  if (exchange + 1 < m_exchanges.size()) {
    m_store->append(*m_id,
                    TurnRow{.role = "prompt", .text = asked.prompt.toStdString(), .note = {}});
  }
  m_store->append(*m_id, TurnRow{.role = "answer",
                                 .text = answer.text.toStdString(),
                                 .note = answer.note.toStdString(),
                                 .tokens = tokensToText(answer.tokens)});
  asked.answers.push_back(answer);
  asked.shown = static_cast<int>(asked.answers.size()) - 1;
}

void Conversation::show(int exchange, int answer) {
  Exchange& asked = m_exchanges[exchange];
  asked.shown = std::clamp(answer, 0, static_cast<int>(asked.answers.size()) - 1);
}

}  // namespace athanor
