// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/banner.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "widgets/buttons.h"
#include "widgets/icons.h"
#include "widgets/labels.h"
#include "widgets/theme_notifier.h"

namespace athanor {
namespace {

constexpr int kEdge_px = 3;

Tone toneOf(BannerKind kind) {
  switch (kind) {
    case BannerKind::warning:
      return Tone::warning;
    case BannerKind::danger:
      return Tone::danger;
    case BannerKind::success:
      return Tone::success;
    case BannerKind::info:
      break;
  }
  return Tone::info;
}

QString iconNameOf(BannerKind kind) {
  switch (kind) {
    case BannerKind::warning:
      return "warning";
    case BannerKind::danger:
      return "cross";
    case BannerKind::success:
      return "check";
    case BannerKind::info:
      break;
  }
  return "info";
}

}  // namespace

Banner::Banner(QWidget* parent)
    : QFrame(parent),
      m_icon(new QLabel),
      m_title(makeSentence({}, FontRole::emphasis)),
      m_text(makeSentence({})),
      m_details(makeSentence({}, FontRole::note, Tone::muted)),
      m_close(iconButton("cross", tr("Close this message"))),
      m_actionRow(new QWidget(this)),
      m_actions(new QHBoxLayout(m_actionRow)) {
  auto* top = new QHBoxLayout;
  top->setSpacing(8);
  m_icon->setFixedHeight(24);
  m_title->setMinimumHeight(24);
  top->addWidget(m_icon, 0, Qt::AlignTop);
  top->addWidget(m_title, 1);
  top->addWidget(m_close, 0, Qt::AlignTop);
  m_actions->setContentsMargins(0, 4, 0, 0);
  m_actions->setSpacing(8);
  m_details->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_details->setAccessibleName(tr("Details"));
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(16, 4, 8, 10);
  layout->setSpacing(2);
  layout->addLayout(top);
  layout->addWidget(m_text);
  layout->addWidget(m_actionRow);
  layout->addWidget(m_details);
  connect(m_close, &QToolButton::clicked, this, [this] {
    hide();
    emit closed();
  });
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, &Banner::updateIcon);
  hide();
}

void Banner::showMessage(const BannerContent& content) {
  m_content = content;
  updateIcon();
  m_title->setText(content.title);
  setTone(m_title, toneOf(content.kind));
  m_text->setText(content.text);
  m_text->setHidden(content.text.isEmpty());
  m_details->setText(content.details);
  m_details->hide();
  m_close->setVisible(content.closable);
  rebuildActions();
  setAccessibleName(content.title);
  setAccessibleDescription(content.text);
  update();
  show();
}

void Banner::rebuildActions() {
  while (QLayoutItem* item = m_actions->takeAt(0)) {
    // Later, for a button may be asking for this from its own click.
    if (item->widget() != nullptr) {
      item->widget()->hide();
      item->widget()->deleteLater();
    }
    delete item;
  }
  for (const BannerAction& action : m_content.actions) {
    QPushButton* button = action.primary ? primaryButton(action.label) : plainButton(action.label);
    connect(button, &QPushButton::clicked, this,
            [this, id = action.id] { emit actionTriggered(id); });
    m_actions->addWidget(button);
  }
  if (!m_content.details.isEmpty()) {
    QPushButton* button = flatButton(tr("Details"));
    connect(button, &QPushButton::clicked, this,
            [this] { m_details->setVisible(m_details->isHidden()); });
    m_actions->addWidget(button);
  }
  m_actions->addStretch(1);
  m_actionRow->setHidden(m_content.actions.isEmpty() && m_content.details.isEmpty());
}

void Banner::updateIcon() {
  m_icon->setPixmap(icon(iconNameOf(m_content.kind), toneOf(m_content.kind))
                        .pixmap(QSize(16, 16), devicePixelRatioF()));
}

void Banner::paintEvent(QPaintEvent*) {
  const QColor colour = toneColour(toneOf(m_content.kind));
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(theme().border, 1));
  painter.setBrush(bannerTint(colour));
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
  painter.fillRect(QRect(0, 1, kEdge_px, height() - 2), colour);
}

}  // namespace athanor
