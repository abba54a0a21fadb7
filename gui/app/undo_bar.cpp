// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/undo_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>

#include "widgets/buttons.h"
#include "widgets/labels.h"

namespace athanor {

UndoBar::UndoBar(RunDeletion* deletion, QWidget* parent) : QWidget(parent) {
  QPushButton* undo = plainButton(tr("Undo"), "undo");
  undo->setObjectName("undoDelete");
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(24, 6, 24, 6);
  layout->setSpacing(12);
  layout->addWidget(makeLabel(tr("The run was deleted.")));
  layout->addWidget(undo);
  layout->addStretch(1);
  hide();
  connect(undo, &QPushButton::clicked, deletion, &RunDeletion::undo);
  connect(deletion, &RunDeletion::pendingChanged, this,
          [this, deletion] { setVisible(deletion->pending().has_value()); });
}

void UndoBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().raised);
}

}  // namespace athanor
