// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/preparation_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include "widgets/buttons.h"
#include "widgets/card.h"
#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/number_label.h"

namespace athanor {
namespace {

constexpr int kParts = 1000;

}  // namespace

PreparationPanel::PreparationPanel(QWidget* parent)
    : QWidget(parent),
      m_stage(makeSentence({}, FontRole::body, Tone::muted)),
      m_share(new NumberLabel),
      m_progress(new QProgressBar) {
  m_progress->setRange(0, kParts);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Progress of the preparation"));
  auto* card = new Card(tr("Preparing the run"));
  card->setFixedWidth(440);
  card->content()->addWidget(m_stage);
  auto* row = new QHBoxLayout;
  row->setSpacing(12);
  row->addWidget(m_progress, 1);
  row->addWidget(m_share);
  card->content()->addLayout(row);
  QPushButton* cancel = plainButton(tr("Cancel"), "cross");
  connect(cancel, &QPushButton::clicked, this, &PreparationPanel::cancelRequested);
  card->content()->addWidget(cancel, 0, Qt::AlignRight);
  auto* layout = new QVBoxLayout(this);
  layout->addStretch(2);
  layout->addWidget(card, 0, Qt::AlignHCenter);
  layout->addStretch(3);
  reset();
}

void PreparationPanel::reset() {
  showStage(tr("Looking at the text"), 0, 0);
}

void PreparationPanel::showStage(const QString& what, qint64 done, qint64 total) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  m_stage->setText(what);
  m_progress->setValue(static_cast<int>(share * kParts));
  m_share->setText(total > 0 ? formatPercent(share, 0) : QString());
}

}  // namespace athanor
