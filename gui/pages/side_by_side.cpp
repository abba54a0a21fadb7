// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/side_by_side.h"

#include <QBoxLayout>

namespace athanor {
namespace {

/// Of the page's content: rail and margins of a window 1100 px wide taken off.
constexpr int kNarrow_px = 980;

/// A scroll area makes its content as high as this says: the least height, so that the plots shrink
/// before the page scrolls.
class Content : public QWidget {
 public:
  int heightForWidth(int width) const override {
    return layout()->totalMinimumHeightForWidth(width);
  }
};

}  // namespace

SideBySide::SideBySide(QWidget* first, QWidget* second, QWidget* fixed, int fixed_px,
                       int spacing_px, QWidget* parent)
    : QScrollArea(parent),
      m_columns(new QBoxLayout(QBoxLayout::LeftToRight)),
      m_fixed(fixed),
      m_fixed_px(fixed_px) {
  m_columns->setContentsMargins(0, 0, 0, 0);
  m_columns->setSpacing(spacing_px);
  m_columns->addWidget(first, first == fixed ? 0 : 1);
  m_columns->addWidget(second, second == fixed ? 0 : 1);
  auto* content = new Content;
  content->setLayout(m_columns);
  setWidget(content);
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  arrange();
}

void SideBySide::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  arrange();
}

void SideBySide::arrange() {
  const bool narrow = width() < kNarrow_px;
  m_columns->setDirection(narrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
  m_fixed->setMinimumWidth(narrow ? 0 : m_fixed_px);
  m_fixed->setMaximumWidth(narrow ? QWIDGETSIZE_MAX : m_fixed_px);
}

}  // namespace athanor
