// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/token_text.h"

#include <QMouseEvent>
#include <QScreen>
#include <QTextBlock>
#include <algorithm>

#include "widgets/theme.h"
#include "widgets/theme_notifier.h"
#include "widgets/token_card.h"

namespace athanor {
namespace {

constexpr double kSure = 0.6;
constexpr double kHalfSure = 0.3;
constexpr double kUnsure = 0.1;
constexpr int kGap_px = 6;

QTextCharFormat tinted(double share) {
  QTextCharFormat format;
  format.setForeground(theme().text);
  format.setBackground(share > 0 ? QBrush(mixed(theme().accent, theme().surface, share))
                                 : QBrush(Qt::NoBrush));
  return format;
}

}  // namespace

double tokenTint(double probability) {
  if (probability >= kSure) return 0;
  if (probability >= kHalfSure) return 0.12;
  return probability >= kUnsure ? 0.25 : 0.4;
}

QString visibleToken(const QString& text) {
  QString shown = text;
  shown.replace('\n', QStringLiteral("\\n"));
  shown.replace('\t', QStringLiteral("\\t"));
  shown.replace(' ', QChar(0x2423));  // open box
  return shown;
}

TokenText::TokenText(QWidget* parent) : TextBlock(parent) {
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, [this] {
    if (!m_tokens.isEmpty()) showStyle();
  });
}

TokenText::~TokenText() {
  delete m_card;
}

void TokenText::setTokens(const QVector<TextToken>& tokens) {
  m_plain = content();
  m_tokens = tokens;
  takeEnds();
  showCard(-1);
  if (m_style != TokenStyle::plain && !tokens.isEmpty()) showStyle();
}

void TokenText::setStyle(TokenStyle style) {
  if (style == m_style) return;
  m_style = style;
  if (!m_tokens.isEmpty()) showStyle();
}

QString TokenText::plainContent() const {
  return m_tokens.isEmpty() ? content() : m_plain;
}

void TokenText::showStyle() {
  setContent(m_plain);
  takeEnds();
  if (m_style == TokenStyle::probabilities) tint();
  if (m_style == TokenStyle::ids) showIds();
}

void TokenText::takeEnds() {
  m_ends.clear();
  for (const TextToken& token : m_tokens)
    m_ends.push_back(token.end);
}

void TokenText::tint() {
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  for (const TextToken& token : m_tokens) {
    cursor.setPosition(token.begin);
    cursor.setPosition(token.end, QTextCursor::KeepAnchor);
    cursor.setCharFormat(tinted(tokenTint(token.probability)));
  }
  cursor.endEditBlock();
}

/// Every second token on a darker ground, its id behind it.
void TokenText::showIds() {
  setContent({});
  m_ends.clear();
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  bool odd = false;
  for (const TextToken& token : m_tokens) {
    QTextCharFormat word = tinted(0);
    if (odd) word.setBackground(theme().raised);
    QTextCharFormat number = word;
    number.setForeground(theme().muted);
    number.setFont(themedFont(FontRole::axis));
    const QString text = m_plain.mid(token.begin, token.end - token.begin);
    // A line break stays one, after its sign and its id.
    const bool breaks = text.contains('\n');
    cursor.insertText(visibleToken(text), word);
    cursor.insertText(QString(QChar(0x00A0)) + QString::number(token.id) + ' ', number);
    if (breaks) cursor.insertText(QStringLiteral("\n"), word);
    m_ends.push_back(cursor.position());
    odd = !odd;
  }
  cursor.endEditBlock();
}

int TokenText::tokenAt(const QPoint& place) const {
  if (m_tokens.isEmpty()) return -1;
  const QTextCursor cursor = cursorForPosition(place);
  // The cursor stands between two characters: the one under the pointer is before or after it.
  const QRect before = cursorRect(cursor);
  const int position = cursor.position() - (place.x() < before.left() ? 1 : 0);
  if (place.y() > before.bottom() + kGap_px || position < 0) return -1;
  const auto found = std::upper_bound(m_ends.begin(), m_ends.end(), position);
  return found == m_ends.end() ? -1 : static_cast<int>(found - m_ends.begin());
}

void TokenText::mouseMoveEvent(QMouseEvent* event) {
  TextBlock::mouseMoveEvent(event);
  showCard(event->buttons() == Qt::NoButton ? tokenAt(event->position().toPoint()) : -1);
}

void TokenText::leaveEvent(QEvent* event) {
  TextBlock::leaveEvent(event);
  showCard(-1);
}

void TokenText::hideEvent(QHideEvent* event) {
  TextBlock::hideEvent(event);
  showCard(-1);
}

void TokenText::showCard(int token) {
  if (token == m_shown) return;
  m_shown = token;
  if (token < 0) {
    if (m_card != nullptr) m_card->hide();
    return;
  }
  if (m_card == nullptr) m_card = new TokenCard(this);
  m_card->setToken(m_tokens[token]);
  QTextCursor cursor(document());
  cursor.setPosition(token == 0 ? m_tokens[token].begin : m_ends[token - 1]);
  const QRect word = cursorRect(cursor);
  QPoint corner = viewport()->mapToGlobal(word.bottomLeft() + QPoint(0, kGap_px));
  const QRect room = screen()->availableGeometry();
  if (corner.y() + m_card->height() > room.bottom())
    corner.setY(viewport()->mapToGlobal(word.topLeft()).y() - m_card->height() - kGap_px);
  corner.setX(
      std::clamp(corner.x(), room.left(), std::max(room.left(), room.right() - m_card->width())));
  m_card->move(corner);
  m_card->show();
}

}  // namespace athanor
