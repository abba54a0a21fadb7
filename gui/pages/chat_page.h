// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Talking to a checkpoint, or to two at once: prompts, answers as they are written, and how they
/// are drawn.

#include <QVector>
#include <QWidget>
#include <filesystem>

#include "gui/models/conversation.h"
#include "gui/run/chat_controller.h"

class QLabel;
class QListWidget;
class QPushButton;

namespace athanor {

class Banner;
class ChatPane;
struct ChatManner;
class Composer;
class ConversationView;
class PromptMenu;
class SamplingPanel;
class Segmented;
class ShowPanel;
class SystemPanel;
class WeightsPanel;

class ChatPage : public QWidget {
  Q_OBJECT
 public:
  ChatPage(RunStore* store, ChatController* chat, QWidget* parent = nullptr);

  /// A new conversation with this checkpoint; step −1 is the newest.
  void talkTo(qint64 runId, qint64 step);
  void ask(const QString& prompt);
  void setComparing(bool comparing);
  const Conversation& conversation() const;
  ConversationView* view() const;
  ChatPane* pane() const { return m_pane; }
  ChatPane* secondPane() const { return m_second; }

 signals:
  void demoRequested();
  void importRequested(const QString& path);
  void dropped(const QStringList& paths);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* makeTalk();
  QWidget* makeSide();
  void addActions();
  void connectParts();
  void connectPane(ChatPane* pane);
  QVector<ChatPane*> shownPanes() const;
  ChatManner manner() const;
  void startNew();
  void refreshHistory();
  void answerNext();
  void takeLoaded(const LoadedModel& model);
  void measureSpeed();
  void showSpeed(const Generation& speed);
  void exportAs(const QString& suffix);
  void addExample(const QString& prompt, const QString& answer);
  void showProblem(const QString& title, const QString& text);
  void updateControls();

  RunStore* m_store;
  ChatController* m_chat;
  ChatController* m_secondChat;
  QVector<ChatPane*> m_waiting;  ///< one after the other, so that neither slows the other
  std::filesystem::path m_examples;
  Banner* m_banner;
  Segmented* m_panes;
  ChatPane* m_pane;
  ChatPane* m_second;
  Composer* m_composer;
  PromptMenu* m_prompts;
  SamplingPanel* m_sampling;
  SystemPanel* m_system;
  WeightsPanel* m_weights;
  ShowPanel* m_show;
  QListWidget* m_history;
  QLabel* m_noHistory;
  QPushButton* m_speedTest;
  QPushButton* m_export;
};

}  // namespace athanor
