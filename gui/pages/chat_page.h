// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Talking to a checkpoint: a prompt, the answer as it is written, and how it is drawn.

#include <QWidget>

#include "gui/models/conversation.h"
#include "gui/run/chat_controller.h"

class QLabel;
class QListWidget;
class QStackedWidget;

namespace athanor {

class Banner;
class Composer;
class ConversationView;
class EmptyState;
class ModelPicker;
class SamplingPanel;
class WeightsPanel;

class ChatPage : public QWidget {
  Q_OBJECT
 public:
  ChatPage(RunStore* store, ChatController* chat, QWidget* parent = nullptr);

  /// A new conversation with this checkpoint; step −1 is the newest.
  void talkTo(qint64 runId, qint64 step);
  void ask(const QString& prompt);
  const Conversation& conversation() const { return m_conversation; }
  ConversationView* view() const { return m_view; }

 signals:
  void demoRequested();
  void importRequested(const QString& path);
  void dropped(const QStringList& paths);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeTalk();
  QWidget* makeSide();
  void connectParts();
  void startNew();
  void openConversation(qint64 id);
  void refreshHistory();
  void answerTo(int exchange);
  void takeLoaded(const LoadedModel& model);
  void takePiece(const QString& text);
  void takeAnswer(const Generation& answer);
  void takeFailure(const QString& reason);
  void endAnswer(const QString& note);
  void regenerate(int turn);
  void showBranch(int exchange);
  void showProblem(const QString& title, const QString& text);
  void updateStack();

  RunStore* m_store;
  ChatController* m_chat;
  Conversation m_conversation;
  int m_answering = -1;   ///< the exchange that is being answered
  QString m_answeringIn;  ///< bits of the weights; empty as saved
  ModelPicker* m_picker;
  Banner* m_banner;
  QStackedWidget* m_stack;
  EmptyState* m_noModel;
  QWidget* m_starts;
  ConversationView* m_view;
  Composer* m_composer;
  SamplingPanel* m_sampling;
  WeightsPanel* m_weights;
  QListWidget* m_history;
  QLabel* m_noHistory;
};

}  // namespace athanor
