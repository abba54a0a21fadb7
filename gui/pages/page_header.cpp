// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/page_header.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "widgets/labels.h"

namespace athanor {

PageHeader::PageHeader(const QString& title, QWidget* parent)
    : QWidget(parent),
      m_titleRow(new QHBoxLayout),
      m_actions(new QHBoxLayout),
      m_title(makeLabel(title, FontRole::title)),
      m_subtitle(makeLabel({}, FontRole::body, Tone::muted)) {
  m_titleRow->setSpacing(12);
  m_titleRow->addWidget(m_title);
  m_titleRow->addStretch(1);
  m_actions->setSpacing(8);
  m_subtitle->hide();
  auto* left = new QVBoxLayout;
  left->setSpacing(0);
  left->addLayout(m_titleRow);
  left->addWidget(m_subtitle);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(16);
  layout->addLayout(left, 1);
  layout->addLayout(m_actions);
  layout->setAlignment(m_actions, Qt::AlignTop);
  setMinimumHeight(30);
}

void PageHeader::setTitle(const QString& title) {
  m_title->setText(title);
}

void PageHeader::setSubtitle(const QString& subtitle) {
  m_subtitle->setText(subtitle);
  m_subtitle->setHidden(subtitle.isEmpty());
}

void PageHeader::addBesideTitle(QWidget* widget) {
  m_titleRow->insertWidget(m_titleRow->count() - 1, widget, 0, Qt::AlignVCenter);
}

void PageHeader::addAction(QWidget* widget) {
  m_actions->addWidget(widget);
}

}  // namespace athanor
