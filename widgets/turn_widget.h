// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// One turn of a conversation: the text, and below it the note, the actions and the branch arrows.

#include <QFrame>
#include <QString>
#include <QVector>

class QLabel;
class QLayout;
class QToolButton;

namespace athanor {

class TokenText;
enum class TokenStyle;
struct TextToken;

class TurnWidget : public QWidget {
  Q_OBJECT
 public:
  TurnWidget(bool user, const QString& text, QWidget* parent);

  bool isUser() const { return m_user; }
  QString text() const;
  void setText(const QString& text);
  void appendText(const QString& chunk);
  /// Of the text as it is; another text has none until they are set again.
  void setTokens(const QVector<TextToken>& tokens);
  void setTokenStyle(TokenStyle style);
  void setNote(const QString& note);
  void setBranch(int current, int count);
  void setStreaming(bool streaming);
  /// A bubble is at most 75 % of this and no wider than its text.
  void fitBubble(int available_px);

 signals:
  void exampleRequested();
  void regenerateRequested();
  void editRequested();
  void branchRequested(int direction);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void makeActions();
  QLayout* makeFooter();
  void updateFooter();

  bool m_user;
  bool m_streaming = false;
  QFrame* m_bubble;
  TokenText* m_text;
  QLabel* m_note;
  QWidget* m_actions;
  QWidget* m_branch;
  QLabel* m_branchText;
  QToolButton* m_previous;
  QToolButton* m_next;
};

}  // namespace athanor
