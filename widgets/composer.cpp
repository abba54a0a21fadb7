// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/composer.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <algorithm>

#include "widgets/buttons.h"
#include "widgets/format.h"
#include "widgets/icons.h"
#include "widgets/labels.h"

namespace athanor {

Composer::Composer(QWidget* parent)
    : QWidget(parent),
      m_input(new QPlainTextEdit),
      m_below(new QHBoxLayout),
      m_button(primaryButton(tr("Send"), "send")),
      m_contextLabel(makeLabel(tr("Context"), FontRole::note, Tone::muted)),
      m_contextBar(new QProgressBar),
      m_contextText(makeLabel({}, FontRole::note, Tone::muted)) {
  m_input->setAccessibleName(tr("Message"));
  m_input->setPlaceholderText(tr("Message"));
  m_input->setTabChangesFocus(true);
  m_input->setFixedHeight(50);
  m_input->installEventFilter(this);
  m_button->setMinimumWidth(96);
  m_button->setSizePolicy(QSizePolicy::Minimum, QSizePolicy::Expanding);
  m_contextBar->setTextVisible(false);
  m_contextBar->setFixedWidth(120);
  m_contextBar->setRange(0, 1000);
  m_contextBar->setAccessibleName(tr("Context in use"));
  m_below->setSpacing(8);
  m_below->addWidget(
      makeLabel(tr("Enter sends, Shift+Enter starts a line"), FontRole::note, Tone::muted));
  m_below->addStretch(1);
  m_below->addWidget(m_contextLabel);
  m_below->addWidget(m_contextBar);
  m_below->addWidget(m_contextText);
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setHorizontalSpacing(12);
  layout->setVerticalSpacing(8);
  layout->addWidget(m_input, 0, 0);
  layout->addWidget(m_button, 0, 1);
  layout->addLayout(m_below, 1, 0, 1, 2);
  connect(m_button, &QPushButton::clicked, this, &Composer::trigger);
  connect(m_input, &QPlainTextEdit::textChanged, this, &Composer::updateButton);
  setContext(0, 0);
  updateButton();
}

QString Composer::text() const {
  return m_input->toPlainText();
}

void Composer::setText(const QString& text) {
  m_input->setPlainText(text);
  m_input->moveCursor(QTextCursor::End);
}

void Composer::setPlaceholder(const QString& text) {
  m_input->setPlaceholderText(text);
}

void Composer::setBusy(bool busy) {
  m_busy = busy;
  updateButton();
}

void Composer::setBlocked(const QString& reason) {
  m_blocked = reason;
  updateButton();
}

void Composer::setContext(std::int64_t used_tokens, std::int64_t total_tokens) {
  const bool known = total_tokens > 0;
  m_contextLabel->setVisible(known);
  m_contextBar->setVisible(known);
  m_contextText->setVisible(known);
  if (!known) return;
  m_contextBar->setValue(
      static_cast<int>(std::min<std::int64_t>(1000, used_tokens * 1000 / total_tokens)));
  m_contextText->setText(
      tr("%1 of %2 tokens").arg(formatThousands(used_tokens), formatThousands(total_tokens)));
}

void Composer::addBelow(QWidget* widget) {
  m_below->insertWidget(0, widget);
}

void Composer::focusInput() {
  m_input->setFocus(Qt::OtherFocusReason);
}

bool Composer::eventFilter(QObject* watched, QEvent* event) {
  if (watched != m_input || event->type() != QEvent::KeyPress) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  const bool enter = key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter;
  if (!enter || (key->modifiers() & Qt::ShiftModifier)) return false;
  // While an answer runs Enter does nothing: it must never stop one by accident.
  if (!m_busy) trigger();
  return true;
}

void Composer::trigger() {
  if (m_busy) {
    emit stopRequested();
    return;
  }
  const QString message = text();
  if (!m_button->isEnabled() || message.trimmed().isEmpty()) return;
  emit sendRequested(message);
  m_input->clear();
}

void Composer::updateButton() {
  m_button->setText(m_busy ? tr("Stop") : tr("Send"));
  m_button->setAccessibleName(m_button->text());
  m_button->setIcon(icon(m_busy ? "stop" : "send", Tone::onAccent));
  m_button->setEnabled(m_busy || (m_blocked.isEmpty() && !text().trimmed().isEmpty()));
  m_button->setToolTip(m_busy ? QString() : m_blocked);
}

}  // namespace athanor
