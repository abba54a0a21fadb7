// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/story_starts.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "widgets/buttons.h"
#include "widgets/labels.h"

namespace athanor {

StoryStarts::StoryStarts(QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setSpacing(8);
  layout->addStretch(2);
  QLabel* title = makeLabel(tr("Begin a story and let the model go on"), FontRole::figureSmall);
  title->setAlignment(Qt::AlignHCenter);
  layout->addWidget(title);
  QLabel* lead = makeSentence(tr("It continues whatever text you give it, in the manner of what "
                                 "it was trained on."),
                              FontRole::body, Tone::muted);
  lead->setAlignment(Qt::AlignHCenter);
  layout->addWidget(lead);
  layout->addSpacing(8);
  for (const QString& start : {tr("Once there was a little girl named Lily who lived"),
                               tr("Anton lived with his uncle below the castle."),
                               tr("Hugo wanted to read the big book more than anything, but")}) {
    QPushButton* button = plainButton(start, "sample");
    connect(button, &QPushButton::clicked, this, [this, start] { emit chosen(start); });
    layout->addWidget(button, 0, Qt::AlignHCenter);
  }
  layout->addStretch(3);
}

}  // namespace athanor
