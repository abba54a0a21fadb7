// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What is shown of an answer's tokens.

#include "widgets/card.h"
#include "widgets/token_text.h"

namespace athanor {

class Segmented;

class ShowPanel : public Card {
  Q_OBJECT
 public:
  explicit ShowPanel(QWidget* parent = nullptr);

  TokenStyle style() const;

 signals:
  void styleChanged(athanor::TokenStyle style);

 private:
  Segmented* m_style;
  QWidget* m_legend;
};

}  // namespace athanor
