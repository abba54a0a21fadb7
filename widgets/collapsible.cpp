// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/collapsible.h"

#include <QAbstractButton>
#include <QPainter>

#include "widgets/icons.h"

namespace athanor {
namespace {

constexpr int kHeight_px = 26;
constexpr int kIndent_px = 20;

class Header : public QAbstractButton {
 public:
  explicit Header(const QString& title, QWidget* parent) : QAbstractButton(parent) {
    setText(title);
    setAccessibleName(title);
    setCheckable(true);
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }

  void setSummary(const QString& summary) {
    m_summary = summary;
    setAccessibleDescription(summary);
    setToolTip(summary);
    update();
  }

  QSize sizeHint() const override {
    return {kIndent_px + fontMetrics().horizontalAdvance(text()) + 8, kHeight_px};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& t = theme();
    QPainter painter(this);
    athanor::icon(isChecked() ? "chevron-down" : "chevron-right", underMouse() ? t.text : t.muted)
        .paint(&painter, QRect(0, (height() - 14) / 2, 14, 14));
    painter.setPen(t.text);
    const QRect area = rect().adjusted(kIndent_px, 0, 0, 0);
    painter.drawText(area, Qt::AlignVCenter, text());
    if (isChecked()) return;
    const int room = area.width() - fontMetrics().horizontalAdvance(text()) - 12;
    painter.setPen(t.muted);
    painter.drawText(area, Qt::AlignVCenter | Qt::AlignRight,
                     fontMetrics().elidedText(m_summary, Qt::ElideRight, room));
  }

 private:
  QString m_summary;
};

}  // namespace

Collapsible::Collapsible(const QString& title, QWidget* parent)
    : QWidget(parent),
      m_header(new Header(title, this)),
      m_body(new QWidget(this)),
      m_content(new QVBoxLayout(m_body)) {
  m_content->setContentsMargins(0, 4, 0, 8);
  m_content->setSpacing(0);
  m_body->hide();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(m_header);
  layout->addWidget(m_body);
  connect(m_header, &QAbstractButton::toggled, this, [this](bool expanded) {
    m_body->setVisible(expanded);
    emit expandedChanged(expanded);
  });
}

void Collapsible::setSummary(const QString& summary) {
  static_cast<Header*>(m_header)->setSummary(summary);
}

bool Collapsible::isExpanded() const {
  return m_header->isChecked();
}

void Collapsible::setExpanded(bool expanded) {
  m_header->setChecked(expanded);
}

}  // namespace athanor
