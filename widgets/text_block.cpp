// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/text_block.h"

#include <QAbstractTextDocumentLayout>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextDocument>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <memory>

#include "widgets/theme.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr qreal kLine_px = 22;

QTextBlockFormat lineFormat() {
  QTextBlockFormat format;
  format.setLineHeight(kLine_px, QTextBlockFormat::FixedHeight);
  return format;
}

QTextCharFormat inkFormat(const QColor& colour) {
  QTextCharFormat format;
  format.setForeground(colour);
  return format;
}

}  // namespace

TextBlock::TextBlock(QWidget* parent) : QTextEdit(parent) {
  setProperty("plain", true);
  setReadOnly(true);
  setFrameShape(QFrame::NoFrame);
  setFont(themedFont(FontRole::chat));
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  setTabChangesFocus(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Text"));
  viewport()->setAutoFillBackground(false);
  document()->setDocumentMargin(0);
  document()->setUndoRedoEnabled(false);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, &TextBlock::recolour);
}

void TextBlock::setContent(const QString& text, int mutedPrefix) {
  m_mutedPrefix = mutedPrefix;
  QTextCursor cursor(document());
  cursor.beginEditBlock();
  cursor.select(QTextCursor::Document);
  cursor.removeSelectedText();
  cursor.setBlockFormat(lineFormat());
  cursor.insertText(text.left(mutedPrefix), inkFormat(theme().muted));
  cursor.insertText(text.mid(mutedPrefix), inkFormat(theme().text));
  cursor.endEditBlock();
  fitHeight();
}

void TextBlock::appendContent(const QString& chunk) {
  QTextCursor cursor(document());
  cursor.movePosition(QTextCursor::End);
  if (document()->isEmpty()) cursor.setBlockFormat(lineFormat());
  cursor.insertText(chunk, inkFormat(theme().text));
  fitHeight();
}

QString TextBlock::content() const {
  return toPlainText();
}

int TextBlock::naturalWidth() const {
  const QFontMetricsF metrics(font(), this);
  qreal widest = 0;
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    widest = std::max(widest, metrics.horizontalAdvance(block.text()));
  }
  return static_cast<int>(std::ceil(widest)) + 2;
}

QSize TextBlock::sizeHint() const {
  return {200, heightForWidth(width())};
}

QSize TextBlock::minimumSizeHint() const {
  return {40, static_cast<int>(kLine_px)};
}

int TextBlock::heightForWidth(int width) const {
  if (width == viewport()->width()) {
    return static_cast<int>(std::ceil(document()->documentLayout()->documentSize().height()));
  }
  const std::unique_ptr<QTextDocument> copy(document()->clone());
  copy->setTextWidth(width);
  return static_cast<int>(std::ceil(copy->size().height()));
}

void TextBlock::resizeEvent(QResizeEvent* event) {
  QTextEdit::resizeEvent(event);
  fitHeight();
}

void TextBlock::wheelEvent(QWheelEvent* event) {
  event->ignore();
}

void TextBlock::changeEvent(QEvent* event) {
  QTextEdit::changeEvent(event);
  if (event->type() == QEvent::FontChange) fitHeight();
}

void TextBlock::fitHeight() {
  const qreal height = document()->documentLayout()->documentSize().height();
  const int needed = std::max(static_cast<int>(kLine_px), static_cast<int>(std::ceil(height)));
  if (minimumHeight() == needed && maximumHeight() == needed) return;
  setFixedHeight(needed);
}

void TextBlock::recolour() {
  QTextCursor cursor(document());
  cursor.select(QTextCursor::Document);
  cursor.mergeCharFormat(inkFormat(theme().text));
  if (m_mutedPrefix <= 0) return;
  cursor.setPosition(0);
  cursor.setPosition(std::min(m_mutedPrefix, document()->characterCount() - 1),
                     QTextCursor::KeepAnchor);
  cursor.mergeCharFormat(inkFormat(theme().muted));
}

}  // namespace athanor
