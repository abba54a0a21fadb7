// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/card.h"

#include <QPainter>

#include "widgets/labels.h"

namespace athanor {
namespace {

constexpr qreal kRadius_px = 6;

}  // namespace

Card::Card(const QString& title, QWidget* parent)
    : QFrame(parent),
      m_header(new QWidget(this)),
      m_title(makeLabel(title, FontRole::emphasis)),
      m_note(makeLabel({}, FontRole::note, Tone::muted)),
      m_content(new QVBoxLayout) {
  auto* header = new QHBoxLayout(m_header);
  header->setContentsMargins(0, 0, 0, 0);
  header->setSpacing(8);
  header->addWidget(m_title);
  header->addStretch(1);
  header->addWidget(m_note);
  m_content->setSpacing(8);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(16, 12, 16, 12);
  layout->setSpacing(8);
  layout->addWidget(m_header);
  layout->addLayout(m_content, 1);
  updateHeader();
}

void Card::setTitle(const QString& title) {
  m_title->setText(title);
  updateHeader();
}

void Card::setNote(const QString& note) {
  m_note->setText(note);
  updateHeader();
}

void Card::addHeaderWidget(QWidget* widget) {
  m_header->layout()->addWidget(widget);
  m_header->show();
}

void Card::setHighlighted(bool highlighted) {
  m_highlighted = highlighted;
  update();
}

void Card::updateHeader() {
  const bool onlyLabels = m_header->layout()->count() == 3;
  m_header->setHidden(onlyLabels && m_title->text().isEmpty() && m_note->text().isEmpty());
}

void Card::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const qreal width = m_highlighted ? 1.5 : 1;
  const qreal inset = width / 2;
  painter.setPen(QPen(m_highlighted ? t.accent : t.border, width));
  painter.setBrush(t.surface);
  painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), kRadius_px,
                          kRadius_px);
}

}  // namespace athanor
