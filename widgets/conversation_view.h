// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A conversation as a scrolling column: what the user said in bubbles at the right, answers as
/// plain text at the left with a note and icon actions below.

#include <QScrollArea>
#include <QString>
#include <QVector>

#include "widgets/token_text.h"

class QVBoxLayout;

namespace athanor {

class TurnWidget;

/// Turns are numbered from 0 in the order they were added. The view stays at the end while it is
/// there, and where the reader left it otherwise.
class ConversationView : public QScrollArea {
  Q_OBJECT
 public:
  explicit ConversationView(QWidget* parent = nullptr);

  int addUser(const QString& text);
  int addAnswer(const QString& text = {});
  void appendText(int turn, const QString& chunk);  ///< streaming
  void setText(int turn, const QString& text);
  void setTokens(int turn, const QVector<TextToken>& tokens);  ///< of the text as it is
  /// Of every answer.
  void setTokenStyle(TokenStyle style);
  void setNote(int turn, const QString& note);  ///< for example "71 tokens · 118 tokens/s"
  /// "2/2" with arrows below the turn; count 0 or 1 hides them. `current` counts from 1.
  void setBranch(int turn, int current, int count);
  /// While an answer is streamed its actions are hidden.
  void setStreaming(int turn, bool streaming);
  QString text(int turn) const;
  int turnCount() const { return static_cast<int>(m_turns.size()); }
  /// Removes this turn and all after it.
  void truncate(int turn);
  void clear();
  void setEmptyText(const QString& text);

 signals:
  void regenerateRequested(int turn);
  void editRequested(int turn);
  void exampleRequested(int turn);
  void branchRequested(int turn, int direction);  ///< −1 or +1

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  int add(const QString& text, bool user);
  void keepAtEnd();
  void updateEmpty();

  QWidget* m_column;
  QVBoxLayout* m_layout;
  QWidget* m_empty;
  QVector<TurnWidget*> m_turns;
  TokenStyle m_style = TokenStyle::plain;
  bool m_atEnd = true;
};

}  // namespace athanor
