// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The 2-px accent outline around the widget that got the focus from the keyboard.

#include <QObject>
#include <QPointer>

class QFocusFrame;
class QWidget;

namespace athanor {

class FocusRing : public QObject {
  Q_OBJECT
 public:
  explicit FocusRing(QObject* parent);
  ~FocusRing() override;

  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void surround(QWidget* widget);

  QPointer<QFocusFrame> m_frame;
};

}  // namespace athanor
