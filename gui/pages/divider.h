// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// A 1-px line between parts of a card.

#include <QWidget>

namespace athanor {

class Divider : public QWidget {
  Q_OBJECT
 public:
  explicit Divider(Qt::Orientation orientation, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace athanor
