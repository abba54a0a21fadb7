// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A label whose digits all have the same width, so that a changing number holds still.

#include <QLabel>

#include "widgets/theme.h"

namespace athanor {

class NumberLabel : public QLabel {
  Q_OBJECT
 public:
  explicit NumberLabel(const QString& text = {}, FontRole role = FontRole::body,
                       QWidget* parent = nullptr);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

/// Width in px of `text` with every digit as wide as the widest.
qreal tabularWidth(const QString& text, const QFontMetricsF& metrics);
/// Paints `text` from the baseline point with tabular digits.
void drawTabular(QPainter& painter, const QPointF& baseline, const QString& text);

}  // namespace athanor
