// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What a model is told before the conversation, and how the conversation is written down for it.

#include "widgets/card.h"

class QLabel;
class QPlainTextEdit;

namespace athanor {

struct LoadedModel;

class SystemPanel : public Card {
  Q_OBJECT
 public:
  explicit SystemPanel(QWidget* parent = nullptr);

  QString text() const;
  /// What answers now: one without a chat template is told nothing.
  void setLoaded(const LoadedModel& model);
  /// Another model will answer.
  void clearLoaded();

 private:
  QPlainTextEdit* m_text;
  QLabel* m_template;
};

}  // namespace athanor
