// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/figure.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "widgets/format.h"
#include "widgets/labels.h"
#include "widgets/number_label.h"

namespace athanor {

Figure::Figure(const QString& caption, bool large, QWidget* parent)
    : QWidget(parent),
      m_caption(makeLabel(caption, FontRole::note, Tone::muted)),
      m_value(new NumberLabel({}, large ? FontRole::figure : FontRole::figureSmall)),
      m_unit(makeLabel({}, FontRole::note, Tone::muted)),
      m_note(makeLabel({}, FontRole::note, Tone::muted)) {
  auto* row = new QHBoxLayout;
  row->setSpacing(5);
  row->addWidget(m_value);
  // The unit stands on the figure's baseline, not at its middle.
  m_unit->setContentsMargins(0, 0, 0, large ? 3 : 2);
  row->addWidget(m_unit, 0, Qt::AlignBottom);
  row->addStretch(1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(1);
  layout->addWidget(m_caption);
  layout->addLayout(row);
  layout->addWidget(m_note);
  m_caption->setHidden(caption.isEmpty());
  m_note->hide();
  setValue(noValue());
}

void Figure::setCaption(const QString& caption) {
  m_caption->setText(caption);
  m_caption->setHidden(caption.isEmpty());
  updateAccessible();
}

void Figure::setValue(const QString& value, const QString& unit) {
  m_value->setText(value);
  m_unit->setText(unit);
  updateAccessible();
}

void Figure::setNote(const QString& note) {
  m_note->setText(note);
  m_note->setHidden(note.isEmpty());
  updateAccessible();
}

void Figure::updateAccessible() {
  setAccessibleName(m_caption->text());
  setAccessibleDescription(
      QString("%1 %2 %3").arg(m_value->text(), m_unit->text(), m_note->text()).simplified());
}

}  // namespace athanor
