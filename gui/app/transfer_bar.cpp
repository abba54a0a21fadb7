// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/app/transfer_bar.h"

#include <QHBoxLayout>
#include <QPainter>

#include "widgets/progress_row.h"
#include "widgets/theme.h"

namespace athanor {

TransferBar::TransferBar(Transfers* transfers, QWidget* parent) : QWidget(parent) {
  auto* row = new ProgressRow;
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(24, 6, 24, 6);
  layout->addWidget(row);
  hide();
  connect(row, &ProgressRow::cancelRequested, transfers, &Transfers::cancel);
  connect(transfers, &Transfers::progressed, row, &ProgressRow::setProgress);
  connect(transfers, &Transfers::busyChanged, this, [this, row, transfers] {
    if (transfers->busy()) row->start(transfers->title());
    setVisible(transfers->busy());
  });
}

void TransferBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().raised);
}

}  // namespace athanor
