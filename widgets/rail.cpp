// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/rail.h"

#include <QAbstractButton>
#include <QKeyEvent>
#include <QPainter>
#include <QShortcut>
#include <QVBoxLayout>

#include "widgets/icons.h"

namespace athanor {
namespace {

constexpr int kWidth_px = 72;
constexpr int kItem_px = 60;
constexpr int kIcon_px = 20;

class Item : public QAbstractButton {
 public:
  Item(const RailEntry& entry, QWidget* parent) : QAbstractButton(parent), m_icon(entry.iconName) {
    setText(entry.word);
    setAccessibleName(entry.word);
    setCheckable(true);
    setFocusPolicy(Qt::StrongFocus);
    setFixedSize(kWidth_px - 1, kItem_px);
    setCursor(Qt::PointingHandCursor);
  }

 protected:
  /// Which one is current is the rail's to say.
  void nextCheckState() override {}

  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down) {
      event->ignore();
    } else {
      QAbstractButton::keyPressEvent(event);
    }
  }

  void paintEvent(QPaintEvent*) override {
    const Theme& t = theme();
    QPainter painter(this);
    if (isChecked()) {
      painter.fillRect(rect(), t.raised);
      painter.fillRect(QRect(0, 0, 3, height()), t.accent);
    } else if (underMouse()) {
      painter.fillRect(rect(), mixed(t.raised, t.surface, 0.5));
    }
    const QColor ink = isChecked() || underMouse() ? t.text : t.muted;
    athanor::icon(m_icon, ink)
        .paint(&painter, QRect((width() - kIcon_px) / 2, 10, kIcon_px, kIcon_px));
    painter.setFont(themedFont(FontRole::axis));
    painter.setPen(ink);
    painter.drawText(QRect(0, 34, width(), 18), Qt::AlignCenter, text());
  }

 private:
  QString m_icon;
};

}  // namespace

Rail::Rail(const QVector<RailEntry>& entries, QWidget* parent) : QWidget(parent) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 8, 1, 0);
  layout->setSpacing(0);
  for (int i = 0; i < entries.size(); ++i) {
    auto* item = new Item(entries[i], this);
    const QKeySequence keys(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i));
    item->setToolTip(
        QString("%1 (%2)").arg(entries[i].word, keys.toString(QKeySequence::NativeText)));
    connect(item, &QAbstractButton::clicked, this, [this, i] { emit activated(i); });
    auto* shortcut = new QShortcut(keys, this);
    connect(shortcut, &QShortcut::activated, this, [this, i] { emit activated(i); });
    layout->addWidget(item);
    m_items << item;
  }
  layout->addStretch(1);
  setFixedWidth(kWidth_px);
  setAccessibleName(tr("Pages"));
}

void Rail::setCurrent(int index) {
  m_current = index;
  for (int i = 0; i < m_items.size(); ++i)
    m_items[i]->setChecked(i == index);
}

void Rail::keyPressEvent(QKeyEvent* event) {
  const int direction = event->key() == Qt::Key_Down ? 1 : (event->key() == Qt::Key_Up ? -1 : 0);
  const auto focused = m_items.indexOf(qobject_cast<QAbstractButton*>(focusWidget()));
  const auto next = focused + direction;
  if (direction == 0 || focused < 0 || next < 0 || next >= m_items.size()) {
    QWidget::keyPressEvent(event);
    return;
  }
  m_items[next]->setFocus(Qt::TabFocusReason);
}

void Rail::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme().surface);
  painter.fillRect(QRect(width() - 1, 0, 1, height()), theme().border);
}

QVector<RailEntry> standardRailEntries() {
  return {{"plan", Rail::tr("Plan")}, {"run", Rail::tr("Run")},
          {"chat", Rail::tr("Chat")}, {"runs", Rail::tr("Runs")},
          {"data", Rail::tr("Data")}, {"settings", Rail::tr("Settings")}};
}

}  // namespace athanor
