// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/turn_widget.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/buttons.h"
#include "widgets/labels.h"
#include "widgets/token_text.h"

namespace athanor {
namespace {

constexpr double kBubbleShare = 0.75;
constexpr int kBubblePad_px = 12;
// Longer lines are hard to read.
constexpr int kAnswerWidth_px = 640;

class Bubble : public QFrame {
 public:
  using QFrame::QFrame;

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().raised);
    painter.drawRoundedRect(rect(), 8, 8);
  }
};

}  // namespace

TurnWidget::TurnWidget(bool user, const QString& text, QWidget* parent)
    : QWidget(parent),
      m_user(user),
      m_bubble(user ? new Bubble : new QFrame),
      m_text(new TokenText),
      m_note(makeSentence({}, FontRole::note, Tone::muted)),
      m_actions(new QWidget),
      m_branch(new QWidget),
      m_branchText(makeLabel({}, FontRole::note, Tone::muted)),
      m_previous(iconButton("chevron-left", tr("Previous version"))),
      m_next(iconButton("chevron-right", tr("Next version"))) {
  m_text->setAccessibleName(user ? tr("You said") : tr("Answer"));
  auto* bubble = new QVBoxLayout(m_bubble);
  const int pad = user ? kBubblePad_px : 0;
  // A 22-px line has its room above the letters, so the padding below is larger.
  bubble->setContentsMargins(pad, user ? 4 : 0, pad, user ? 10 : 0);
  bubble->addWidget(m_text);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  makeActions();
  if (user) {
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addStretch(1);
    row->addWidget(m_actions, 0, Qt::AlignBottom);
    row->addWidget(m_bubble);
    layout->addLayout(row);
  } else {
    m_bubble->setMaximumWidth(kAnswerWidth_px);
    auto* row = new QHBoxLayout;
    row->addWidget(m_bubble, 1);
    row->addStretch(0);
    layout->addLayout(row);
  }
  layout->addLayout(makeFooter());
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  setText(text);
  setBranch(1, 1);
}

void TurnWidget::makeActions() {
  auto* actions = new QHBoxLayout(m_actions);
  actions->setContentsMargins(0, 0, 0, 0);
  actions->setSpacing(8);
  QToolButton* regenerate = iconButton("refresh", tr("Write the answer again"));
  QToolButton* edit = iconButton("pencil", tr("Change the beginning"));
  QToolButton* copy = iconButton("copy", tr("Copy"));
  regenerate->setHidden(m_user);
  for (QToolButton* button : {regenerate, edit, copy})
    actions->addWidget(button);
  connect(regenerate, &QToolButton::clicked, this, &TurnWidget::regenerateRequested);
  connect(edit, &QToolButton::clicked, this, &TurnWidget::editRequested);
  connect(copy, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(text()); });
  if (m_user) return;
  QToolButton* example = iconButton("plus", tr("Use as a training example…"));
  actions->addWidget(example);
  connect(example, &QToolButton::clicked, this, &TurnWidget::exampleRequested);
}

/// The note, and the branch arrows beside the actions, which a bubble has at its left.
QLayout* TurnWidget::makeFooter() {
  auto* branch = new QHBoxLayout(m_branch);
  branch->setContentsMargins(m_user ? 0 : 8, 0, 0, 0);
  branch->setSpacing(0);
  branch->addWidget(m_previous);
  branch->addWidget(m_branchText);
  branch->addWidget(m_next);
  connect(m_previous, &QToolButton::clicked, this, [this] { emit branchRequested(-1); });
  connect(m_next, &QToolButton::clicked, this, [this] { emit branchRequested(1); });
  auto* row = new QHBoxLayout;
  row->setSpacing(0);
  if (m_user) {
    row->addStretch(1);
  } else {
    row->addWidget(m_actions);
  }
  row->addWidget(m_branch);
  if (!m_user) row->addStretch(1);
  auto* column = new QVBoxLayout;
  column->setSpacing(0);
  column->addWidget(m_note);
  column->addLayout(row);
  return column;
}

QString TurnWidget::text() const {
  return m_text->plainContent();
}

void TurnWidget::setText(const QString& text) {
  m_text->setTokens({});
  m_text->setContent(text);
  if (m_user) fitBubble(width());
}

void TurnWidget::appendText(const QString& chunk) {
  m_text->appendContent(chunk);
}

void TurnWidget::setTokens(const QVector<TextToken>& tokens) {
  m_text->setTokens(tokens);
}

void TurnWidget::setTokenStyle(TokenStyle style) {
  m_text->setStyle(style);
}

void TurnWidget::setNote(const QString& note) {
  m_note->setText(note);
  updateFooter();
}

void TurnWidget::setBranch(int current, int count) {
  m_branchText->setText(QString("%1/%2").arg(current).arg(count));
  m_branch->setHidden(count < 2);
  m_previous->setEnabled(current > 1);
  m_next->setEnabled(current < count);
  updateFooter();
}

void TurnWidget::setStreaming(bool streaming) {
  m_streaming = streaming;
  updateFooter();
}

void TurnWidget::updateFooter() {
  m_note->setHidden(m_note->text().isEmpty());
  m_actions->setHidden(m_streaming);
}

void TurnWidget::fitBubble(int available_px) {
  if (!m_user) return;
  const int most = static_cast<int>(available_px * kBubbleShare);
  m_bubble->setFixedWidth(
      std::clamp(m_text->naturalWidth() + 2 * kBubblePad_px, 48, std::max(48, most)));
}

void TurnWidget::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fitBubble(width());
}

}  // namespace athanor
