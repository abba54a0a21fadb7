// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// "Deleted. Undo", above the strip for as long as a deletion can be taken back.

#include <QWidget>

#include "gui/models/run_deletion.h"

namespace athanor {

class UndoBar : public QWidget {
  Q_OBJECT
 public:
  explicit UndoBar(RunDeletion* deletion, QWidget* parent = nullptr);

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace athanor
