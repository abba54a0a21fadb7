// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/pages/tone_icon.h"

#include "widgets/icons.h"
#include "widgets/theme_notifier.h"

namespace athanor {

ToneIcon::ToneIcon(int size_px, QWidget* parent) : QLabel(parent), m_size_px(size_px) {
  setFixedSize(size_px, size_px);
  connect(&ThemeNotifier::instance(), &ThemeNotifier::changed, this, &ToneIcon::draw);
}

void ToneIcon::setIcon(const QString& name, Tone tone) {
  m_name = name;
  m_tone = tone;
  draw();
}

void ToneIcon::draw() {
  if (m_name.isEmpty()) {
    clear();
  } else {
    setPixmap(icon(m_name, m_tone).pixmap(QSize(m_size_px, m_size_px), devicePixelRatioF()));
  }
}

}  // namespace athanor
