// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/focus_ring.h"

#include <QApplication>
#include <QFocusEvent>
#include <QFocusFrame>
#include <QPainter>
#include <QProxyStyle>
#include <QStyleFactory>

#include "widgets/theme.h"

namespace athanor {
namespace {

constexpr int kRing_px = 2;
constexpr int kGap_px = 1;

/// Only tells the frame how far outside the widget it lies.
class RingStyle : public QProxyStyle {
 public:
  RingStyle() : QProxyStyle(QStyleFactory::create("Fusion")) {}

  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override {
    if (metric == PM_FocusFrameHMargin || metric == PM_FocusFrameVMargin) {
      return kRing_px + kGap_px;
    }
    return QProxyStyle::pixelMetric(metric, option, widget);
  }
};

class Frame : public QFocusFrame {
 public:
  Frame() : m_style(new RingStyle) {
    m_style->setParent(this);
    setStyle(m_style);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme().accent, kRing_px));
    painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 6, 6);
  }

 private:
  RingStyle* m_style;
};

bool fromKeyboard(const QEvent* event) {
  const auto reason = static_cast<const QFocusEvent*>(event)->reason();
  return reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
         reason == Qt::ShortcutFocusReason;
}

}  // namespace

FocusRing::FocusRing(QObject* parent) : QObject(parent) {
  qApp->installEventFilter(this);
}

FocusRing::~FocusRing() {
  delete m_frame;
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::FocusIn && event->type() != QEvent::FocusOut) return false;
  auto* widget = qobject_cast<QWidget*>(watched);
  if (widget == nullptr) return false;
  if (event->type() == QEvent::FocusIn && fromKeyboard(event) && !widget->isWindow()) {
    surround(widget);
  } else if (m_frame != nullptr && m_frame->widget() != nullptr) {
    m_frame->setWidget(nullptr);
  }
  return false;
}

void FocusRing::surround(QWidget* widget) {
  // The frame is a child of the page it stands on and may have gone with it.
  if (m_frame == nullptr) m_frame = new Frame;
  m_frame->setWidget(widget);
}

}  // namespace athanor
