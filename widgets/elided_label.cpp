// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/elided_label.h"

#include "widgets/theme.h"

namespace athanor {
namespace {

/// Of less, nobody learns anything.
constexpr int kLeast_px = 96;

}  // namespace

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setFont(themedFont(FontRole::body));
  setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
}

void ElidedLabel::setText(const QString& text) {
  m_text = text;
  setToolTip(text);
  setAccessibleName(text);
  updateGeometry();
  elide();
}

QSize ElidedLabel::minimumSizeHint() const {
  return {0, QLabel::minimumSizeHint().height()};
}

QSize ElidedLabel::sizeHint() const {
  return {fontMetrics().horizontalAdvance(m_text) + 2, QLabel::sizeHint().height()};
}

void ElidedLabel::resizeEvent(QResizeEvent* event) {
  QLabel::resizeEvent(event);
  elide();
}

void ElidedLabel::elide() {
  const bool legible = width() >= kLeast_px || width() >= sizeHint().width();
  QLabel::setText(legible ? fontMetrics().elidedText(m_text, Qt::ElideRight, width()) : QString());
}

}  // namespace athanor
