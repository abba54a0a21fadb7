// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/divider.h"

#include <QPainter>

#include "widgets/theme.h"

namespace athanor {

Divider::Divider(Qt::Orientation orientation, QWidget* parent) : QWidget(parent) {
  if (orientation == Qt::Horizontal) {
    setFixedHeight(1);
  } else {
    setFixedWidth(1);
  }
}

void Divider::paintEvent(QPaintEvent*) {
  QPainter(this).fillRect(rect(), theme().border);
}

}  // namespace athanor
