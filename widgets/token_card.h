// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What else could have been written instead of a token: a popup with a bar for each.

#include <QWidget>

#include "widgets/token_text.h"

namespace athanor {

class TokenCard : public QWidget {
  Q_OBJECT
 public:
  explicit TokenCard(QWidget* parent);

  void setToken(const TextToken& token);
  QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Row {
    QString text;
    double probability;
    bool drawn;
  };

  QString m_title;
  QString m_loss;
  QString m_rest;
  QVector<Row> m_rows;
};

}  // namespace athanor
