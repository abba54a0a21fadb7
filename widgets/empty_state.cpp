// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/empty_state.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "widgets/buttons.h"
#include "widgets/icons.h"
#include "widgets/labels.h"
#include "widgets/theme_notifier.h"

namespace athanor {

EmptyState::EmptyState(const QString& iconName, const QString& sentence, const QString& action,
                       QWidget* parent)
    : QWidget(parent),
      m_iconName(iconName),
      m_icon(new QLabel),
      m_sentence(makeSentence(sentence)),
      m_button(plainButton({})),
      m_buttons(new QHBoxLayout) {
  m_icon->setAlignment(Qt::AlignCenter);
  m_sentence->setAlignment(Qt::AlignCenter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(16, 16, 16, 16);
  layout->setSpacing(12);
  layout->addStretch(1);
  layout->addWidget(m_icon);
  layout->addWidget(m_sentence);
  m_buttons->setSpacing(8);
  m_buttons->addStretch(1);
  m_buttons->addWidget(m_button);
  m_buttons->addStretch(1);
  layout->addLayout(m_buttons);
  layout->addStretch(1);
  connect(m_button, &QPushButton::clicked, this, &EmptyState::activated);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, &EmptyState::updateIcon);
  setAction(action);
  setAccessibleName(sentence);
  updateIcon();
}

void EmptyState::setSentence(const QString& sentence) {
  m_sentence->setText(sentence);
  setAccessibleName(sentence);
}

void EmptyState::setAction(const QString& action) {
  m_button->setText(action);
  m_button->setAccessibleName(action);
  m_button->setHidden(action.isEmpty());
}

void EmptyState::addButton(QWidget* button) {
  m_buttons->insertWidget(m_buttons->count() - 1, button);
}

void EmptyState::updateIcon() {
  m_icon->setPixmap(icon(m_iconName, Tone::muted).pixmap(QSize(24, 24), devicePixelRatioF()));
}

void EmptyState::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QPen pen(theme().edge, 1);
  pen.setDashPattern({3, 3});
  painter.setPen(pen);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
}

}  // namespace athanor
