// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/labels.h"

#include <QStyle>

namespace athanor {
namespace {

const char* toneName(Tone tone) {
  switch (tone) {
    case Tone::text:
      return "text";
    case Tone::muted:
      return "muted";
    case Tone::accent:
      return "accent";
    case Tone::onAccent:
      return "onAccent";
    case Tone::success:
      return "success";
    case Tone::warning:
      return "warning";
    case Tone::danger:
      return "danger";
    case Tone::info:
      return "info";
  }
  return "text";
}

}  // namespace

QLabel* makeLabel(const QString& text, FontRole role, Tone tone, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setTextFormat(Qt::PlainText);
  label->setFont(themedFont(role));
  setTone(label, tone);
  return label;
}

QLabel* makeSentence(const QString& text, FontRole role, Tone tone, QWidget* parent) {
  QLabel* label = makeLabel(text, role, tone, parent);
  label->setWordWrap(true);
  return label;
}

void setTone(QLabel* label, Tone tone) {
  label->setProperty("tone", QString(toneName(tone)));
  label->style()->unpolish(label);
  label->style()->polish(label);
}

}  // namespace athanor
