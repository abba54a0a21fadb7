// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/wheel_guard.h"

#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QEvent>
#include <QScrollBar>
#include <QWidget>

namespace athanor {
namespace {

QWidget* guardedInput(QObject* object) {
  if (qobject_cast<QScrollBar*>(object) != nullptr) return nullptr;
  if (auto* combo = qobject_cast<QComboBox*>(object)) return combo;
  if (auto* spin = qobject_cast<QAbstractSpinBox*>(object)) return spin;
  return qobject_cast<QAbstractSlider*>(object);
}

}  // namespace

bool WheelGuard::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::Wheel && event->type() != QEvent::Polish) return false;
  QWidget* input = guardedInput(watched);
  if (input == nullptr) return false;
  if (event->type() == QEvent::Polish) {
    if (input->focusPolicy() == Qt::WheelFocus) input->setFocusPolicy(Qt::StrongFocus);
    return false;
  }
  if (input->hasFocus()) return false;
  // Ignored and filtered: the event goes on to the parent, which scrolls.
  event->ignore();
  return true;
}

}  // namespace athanor
