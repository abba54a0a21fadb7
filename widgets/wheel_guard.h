// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Keeps the wheel from changing an input that has no focus; the page scrolls instead.

#include <QObject>

namespace athanor {

/// Installed on the application: combo boxes, spin boxes and sliders take the wheel only when
/// focused, and never get the focus from it.
class WheelGuard : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  bool eventFilter(QObject* watched, QEvent* event) override;
};

}  // namespace athanor
