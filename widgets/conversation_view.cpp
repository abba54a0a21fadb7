// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/conversation_view.h"

#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/empty_state.h"
#include "widgets/turn_widget.h"

namespace athanor {
namespace {

constexpr int kEndSlack_px = 24;

}  // namespace

ConversationView::ConversationView(QWidget* parent)
    : QScrollArea(parent),
      m_column(new QWidget),
      m_layout(new QVBoxLayout(m_column)),
      m_empty(new EmptyState("chat", tr("Nothing was said yet"))) {
  m_layout->setContentsMargins(0, 8, 8, 8);
  m_layout->setSpacing(16);
  m_layout->addWidget(m_empty);
  m_layout->addStretch(1);
  setWidget(m_column);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setAccessibleName(tr("Conversation"));
  connect(verticalScrollBar(), &QScrollBar::valueChanged, this,
          [this](int value) { m_atEnd = value >= verticalScrollBar()->maximum() - kEndSlack_px; });
  // The range follows the layout, later than the text that made it grow.
  connect(verticalScrollBar(), &QScrollBar::rangeChanged, this, [this] { keepAtEnd(); });
}

int ConversationView::addUser(const QString& text) {
  return add(text, true);
}

int ConversationView::addAnswer(const QString& text) {
  return add(text, false);
}

int ConversationView::add(const QString& text, bool user) {
  const int turn = turnCount();
  auto* widget = new TurnWidget(user, text, m_column);
  connect(widget, &TurnWidget::regenerateRequested, this,
          [this, turn] { emit regenerateRequested(turn); });
  connect(widget, &TurnWidget::editRequested, this, [this, turn] { emit editRequested(turn); });
  connect(widget, &TurnWidget::exampleRequested, this,
          [this, turn] { emit exampleRequested(turn); });
  connect(widget, &TurnWidget::branchRequested, this,
          [this, turn](int direction) { emit branchRequested(turn, direction); });
  if (!user) widget->setTokenStyle(m_style);
  m_turns << widget;
  m_layout->insertWidget(m_layout->count() - 1, widget);
  m_atEnd = true;
  updateEmpty();
  return turn;
}

void ConversationView::appendText(int turn, const QString& chunk) {
  m_turns.at(turn)->appendText(chunk);
}

void ConversationView::setText(int turn, const QString& text) {
  m_turns.at(turn)->setText(text);
}

void ConversationView::setTokens(int turn, const QVector<TextToken>& tokens) {
  m_turns.at(turn)->setTokens(tokens);
}

void ConversationView::setTokenStyle(TokenStyle style) {
  m_style = style;
  for (TurnWidget* turn : m_turns) {
    if (!turn->isUser()) turn->setTokenStyle(style);
  }
}

void ConversationView::setNote(int turn, const QString& note) {
  m_turns.at(turn)->setNote(note);
}

void ConversationView::setBranch(int turn, int current, int count) {
  m_turns.at(turn)->setBranch(current, count);
}

void ConversationView::setStreaming(int turn, bool streaming) {
  m_turns.at(turn)->setStreaming(streaming);
}

QString ConversationView::text(int turn) const {
  return m_turns.at(turn)->text();
}

void ConversationView::truncate(int turn) {
  while (turnCount() > std::max(0, turn)) {
    TurnWidget* widget = m_turns.takeLast();
    m_layout->removeWidget(widget);
    widget->hide();
    // Later, for the turn may be asking for this from its own click.
    widget->deleteLater();
  }
  updateEmpty();
}

void ConversationView::clear() {
  truncate(0);
}

void ConversationView::setEmptyText(const QString& text) {
  static_cast<EmptyState*>(m_empty)->setSentence(text);
}

void ConversationView::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  keepAtEnd();
}

void ConversationView::keepAtEnd() {
  if (m_atEnd) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

void ConversationView::updateEmpty() {
  m_empty->setHidden(!m_turns.isEmpty());
}

}  // namespace athanor
