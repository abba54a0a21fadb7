// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One model that is talked to: which one it is, and the conversation with it.

#include "gui/models/conversation.h"
#include "gui/run/chat_controller.h"
#include "widgets/card.h"

class QLabel;
class QStackedWidget;

namespace athanor {

class ConversationView;
class EmptyState;
class ModelPicker;
class StoryStarts;

/// How answers are made.
struct ChatManner {
  SamplingOptions sampling;
  WeightFormat weights = WeightFormat::as_saved;
  QString weightsName;  ///< "8 bit"; empty as saved
  QString system;       ///< what a model with a chat template is told first; mostly empty
};

class ChatPane : public Card {
  Q_OBJECT
 public:
  ChatPane(RunStore* store, ChatController* chat, QWidget* parent = nullptr);

  /// "A", beside the choice of the model; empty for a pane that is alone.
  void setLetter(const QString& letter);
  ModelPicker* picker() const { return m_picker; }
  ConversationView* view() const { return m_view; }
  EmptyState* noModel() const { return m_noModel; }
  const Conversation& conversation() const { return m_conversation; }
  bool isBusy() const { return m_answering >= 0; }
  /// Tokens of the last answer and its prompt; 0 before the first.
  std::int64_t usedTokens() const { return m_usedTokens; }
  /// "nano · step 200", of what was chosen.
  QString modelName() const;

  /// Reads the runs again.
  void refresh();
  void startNew();
  void open(qint64 conversationId);
  /// Keeps and shows a prompt; false when that failed.
  bool add(const QString& prompt);
  /// Ends with answered().
  void answer(int exchange, const ChatManner& manner);
  void answerLast(const ChatManner& manner);
  /// Ends with measured() or problem().
  void measureSpeed(const ChatManner& manner);
  void stop();

 signals:
  void chosen(const QString& prompt);
  void modelChanged();
  void loaded(const athanor::LoadedModel& model);
  void answered();
  void measured(const athanor::Generation& speed);
  void regenerateRequested(int exchange);
  void editRequested(const QString& prompt);
  void exampleRequested(const QString& prompt, const QString& answer);
  void problem(const QString& title, const QString& text);

 private:
  void connectParts();
  void showExchanges();
  void updateStack();
  ChatRequest request(const ChatManner& manner) const;
  /// What was said up to a prompt, as it is shown.
  Dialogue said(int exchange, const QString& system) const;
  void takePiece(const QString& text);
  void takeAnswer(const FinishedAnswer& answer);
  void takeFailure(const QString& reason);
  void endAnswer(const QString& note, const QVector<TextToken>& tokens);
  void showBranch(int exchange);

  RunStore* m_store;
  ChatController* m_chat;
  Conversation m_conversation;
  int m_answering = -1;   ///< the exchange that is being answered
  QString m_answeringIn;  ///< bits of the weights; empty as saved
  std::int64_t m_usedTokens = 0;
  QLabel* m_letter;
  ModelPicker* m_picker;
  QStackedWidget* m_stack;
  EmptyState* m_noModel;
  StoryStarts* m_starts;
  ConversationView* m_view;
};

}  // namespace athanor
