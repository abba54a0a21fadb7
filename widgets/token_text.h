// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Text that knows its tokens: tinted where the writer was unsure, or one beside the other with
/// their ids; a card tells of the one under the pointer.

#include <QVector>

#include "widgets/text_block.h"

namespace athanor {

/// A token of a text: characters [begin, end), none when it only completes the next one.
struct TextToken {
  struct Other {
    QString text;
    double probability = 0;
  };
  int begin = 0;
  int end = 0;
  int id = 0;
  QString text;  ///< as the card names it
  double probability = 0;
  QVector<Other> best;  ///< falling; with the token itself where it is one of them
};

class TokenCard;

enum class TokenStyle { plain, probabilities, ids };

class TokenText : public TextBlock {
  Q_OBJECT
 public:
  explicit TokenText(QWidget* parent = nullptr);
  ~TokenText() override;

  /// Of the content as it is; another content has none until they are set again.
  void setTokens(const QVector<TextToken>& tokens);
  void setStyle(TokenStyle style);
  /// With ids too: the text alone.
  QString plainContent() const;

  /// The token of a place in the widget; −1 for none.
  int tokenAt(const QPoint& place) const;

 protected:
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  void showStyle();
  void takeEnds();
  void tint();
  void showIds();
  void showCard(int token);

  QVector<TextToken> m_tokens;
  QVector<int> m_ends;  ///< of the tokens as shown, with their ids
  QString m_plain;
  TokenStyle m_style = TokenStyle::plain;
  TokenCard* m_card = nullptr;
  int m_shown = -1;
};

/// How strongly a token of this probability is tinted, 0…1: from 60 %, 30 % and 10 % down.
double tokenTint(double probability);
/// A token's text for a person: spaces and line breaks are visible.
QString visibleToken(const QString& text);

}  // namespace athanor
