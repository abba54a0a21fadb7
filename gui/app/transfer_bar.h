// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// What comes in or goes out just now, above the strip on every page.

#include <QWidget>

#include "gui/run/transfers.h"

namespace athanor {

class TransferBar : public QWidget {
  Q_OBJECT
 public:
  explicit TransferBar(Transfers* transfers, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace athanor
