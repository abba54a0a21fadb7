// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/buttons.h"

#include "widgets/icons.h"

namespace athanor {
namespace {

QPushButton* makeButton(const QString& text, const QString& iconName, const char* kind, Tone tone,
                        QWidget* parent) {
  auto* button = new QPushButton(text, parent);
  button->setProperty("kind", QString(kind));
  button->setAccessibleName(text);
  button->setCursor(Qt::PointingHandCursor);
  if (!iconName.isEmpty()) {
    button->setIcon(icon(iconName, tone));
    button->setIconSize(text.isEmpty() ? QSize(16, 16) : QSize(20, 16));
  }
  return button;
}

}  // namespace

QPushButton* primaryButton(const QString& text, const QString& iconName, QWidget* parent) {
  return makeButton(text, iconName, "primary", Tone::onAccent, parent);
}

QPushButton* plainButton(const QString& text, const QString& iconName, QWidget* parent) {
  return makeButton(text, iconName, "plain", Tone::text, parent);
}

QPushButton* flatButton(const QString& text, const QString& iconName, QWidget* parent) {
  return makeButton(text, iconName, "flat", Tone::muted, parent);
}

QToolButton* iconButton(const QString& iconName, const QString& name, bool framed,
                        QWidget* parent) {
  auto* button = new QToolButton(parent);
  button->setProperty("kind", QString(framed ? "framed" : "bare"));
  button->setIcon(icon(iconName, framed ? Tone::text : Tone::muted));
  button->setIconSize({16, 16});
  button->setFixedSize(framed ? QSize(30, 30) : QSize(24, 24));
  button->setFocusPolicy(Qt::StrongFocus);
  button->setToolTip(name);
  button->setAccessibleName(name);
  return button;
}

void makeTall(QPushButton* button) {
  button->setProperty("tall", true);
  button->setIconSize({26, 20});
}

}  // namespace athanor
