// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/segmented.h"

#include <QAbstractButton>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <cmath>

#include "widgets/theme.h"

namespace athanor {
namespace {

class Part : public QAbstractButton {
 public:
  Part(const QString& word, QWidget* parent) : QAbstractButton(parent) {
    setText(word);
    setAccessibleName(word);
    setCheckable(true);
    setAutoExclusive(true);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::MinimumExpanding, QSizePolicy::Fixed);
  }

  QSize sizeHint() const override {
    const QFontMetricsF metrics(themedFont(FontRole::emphasis), this);
    return {static_cast<int>(std::ceil(metrics.horizontalAdvance(text()))) + 24, 28};
  }

 protected:
  /// The arrow keys are the row's: the button's own handling would skip its bookkeeping.
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right) {
      event->ignore();
    } else {
      QAbstractButton::keyPressEvent(event);
    }
  }

  void paintEvent(QPaintEvent*) override {
    const Theme& t = theme();
    QPainter painter(this);
    if (!isEnabled()) painter.setOpacity(0.55);
    if (isChecked()) {
      painter.fillRect(rect().adjusted(1, 1, -1, -1), t.raised);
      painter.fillRect(QRect(1, height() - 3, width() - 2, 2), t.accent);
    } else if (underMouse() && isEnabled()) {
      painter.fillRect(rect().adjusted(1, 1, -1, -1), mixed(t.raised, t.surface, 0.5));
    }
    painter.setFont(themedFont(isChecked() ? FontRole::emphasis : FontRole::body));
    painter.setPen(isChecked() ? t.text : t.muted);
    painter.drawText(rect(), Qt::AlignCenter, text());
  }
};

}  // namespace

Segmented::Segmented(const QString& name, const QStringList& options, QWidget* parent)
    : QWidget(parent) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  for (int i = 0; i < options.size(); ++i) {
    auto* part = new Part(options[i], this);
    part->setChecked(i == 0);
    // One stop for Tab; the arrow keys move within.
    part->setFocusPolicy(i == 0 ? Qt::StrongFocus : Qt::ClickFocus);
    connect(part, &QAbstractButton::clicked, this, [this, i] { setCurrent(i); });
    layout->addWidget(part, 1);
    m_parts << part;
  }
  setAccessibleName(name);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void Segmented::setCurrent(int index) {
  if (index < 0 || index >= m_parts.size()) return;
  m_parts[index]->setChecked(true);
  if (index == m_current) return;
  const bool focused = m_parts[m_current]->hasFocus();
  m_parts[m_current]->setFocusPolicy(Qt::ClickFocus);
  m_current = index;
  m_parts[index]->setFocusPolicy(Qt::StrongFocus);
  if (focused) m_parts[index]->setFocus(Qt::TabFocusReason);
  emit currentChanged(index);
}

void Segmented::setOptionEnabled(int index, bool enabled, const QString& reason) {
  if (index < 0 || index >= m_parts.size()) return;
  m_parts[index]->setEnabled(enabled);
  m_parts[index]->setToolTip(enabled ? QString() : reason);
}

void Segmented::move(int direction) {
  for (int i = m_current + direction; i >= 0 && i < m_parts.size(); i += direction) {
    if (!m_parts[i]->isEnabled()) continue;
    setCurrent(i);
    return;
  }
}

void Segmented::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      move(-1);
      return;
    case Qt::Key_Right:
      move(1);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void Segmented::paintEvent(QPaintEvent*) {
  const Theme& t = theme();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.edge, 1));
  painter.setBrush(t.appearance == Appearance::dark ? t.background : t.surface);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(QPen(t.border, 1));
  for (int i = 1; i < m_parts.size(); ++i) {
    const int x = m_parts[i]->x();
    painter.drawLine(x, 1, x, height() - 2);
  }
}

}  // namespace athanor
