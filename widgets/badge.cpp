// SPDX-License-Identifier: GPL-3.0-or-later
#include "widgets/badge.h"

#include <QPainter>
#include <cmath>

#include "widgets/icons.h"

namespace athanor {
namespace {

constexpr int kHeight_px = 20;
constexpr int kIcon_px = 14;
constexpr int kGap_px = 4;
constexpr int kPad_px = 8;

QFont badgeFont(bool pill) {
  QFont font = themedFont(pill ? FontRole::note : FontRole::body);
  if (pill) font.setWeight(QFont::DemiBold);
  return font;
}

}  // namespace

QString badgeWord(BadgeKind kind) {
  switch (kind) {
    case BadgeKind::running:
      return Badge::tr("Running");
    case BadgeKind::paused:
      return Badge::tr("Paused");
    case BadgeKind::interrupted:
      return Badge::tr("Interrupted");
    case BadgeKind::finished:
      return Badge::tr("Finished");
    case BadgeKind::failed:
      return Badge::tr("Failed");
    case BadgeKind::queued:
      return Badge::tr("Queued");
    case BadgeKind::preparing:
      return Badge::tr("Preparing");
    case BadgeKind::stopped:
      return Badge::tr("Stopped");
    case BadgeKind::imported:
      return Badge::tr("Imported");
  }
  return {};
}

QString badgeIconName(BadgeKind kind) {
  switch (kind) {
    case BadgeKind::running:
      return "play";
    case BadgeKind::paused:
      return "pause";
    case BadgeKind::interrupted:
      return "warning";
    case BadgeKind::finished:
      return "check";
    case BadgeKind::failed:
      return "cross";
    case BadgeKind::queued:
      return "chevron-down";
    case BadgeKind::preparing:
      return "clock";
    case BadgeKind::stopped:
      return "stop";
    case BadgeKind::imported:
      return "import";
  }
  return {};
}

Tone badgeTone(BadgeKind kind) {
  switch (kind) {
    case BadgeKind::running:
    case BadgeKind::finished:
      return Tone::success;
    case BadgeKind::paused:
      return Tone::info;
    case BadgeKind::interrupted:
      return Tone::warning;
    case BadgeKind::failed:
      return Tone::danger;
    case BadgeKind::queued:
    case BadgeKind::preparing:
    case BadgeKind::stopped:
    case BadgeKind::imported:
      return Tone::muted;
  }
  return Tone::muted;
}

Badge::Badge(BadgeKind kind, QWidget* parent) : QWidget(parent), m_kind(kind) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  setKind(kind);
}

void Badge::setKind(BadgeKind kind) {
  m_kind = kind;
  setAccessibleName(badgeWord(kind));
  updateGeometry();
  update();
}

void Badge::setPill(bool pill) {
  m_pill = pill;
  updateGeometry();
  update();
}

QSize Badge::sizeHint() const {
  const QFontMetricsF metrics(badgeFont(m_pill), this);
  const int text = static_cast<int>(std::ceil(metrics.horizontalAdvance(badgeWord(m_kind))));
  return {text + kIcon_px + kGap_px + (m_pill ? 2 * kPad_px : 2), kHeight_px};
}

void Badge::paintEvent(QPaintEvent*) {
  const QColor colour = toneColour(badgeTone(m_kind));
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(colour, 1));
  int x = 0;
  if (m_pill) {
    const QRectF outline = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    painter.drawRoundedRect(outline, outline.height() / 2, outline.height() / 2);
    x = kPad_px - 1;
  }
  icon(badgeIconName(m_kind), colour)
      .paint(&painter, QRect(x, (height() - kIcon_px) / 2, kIcon_px, kIcon_px));
  painter.setFont(badgeFont(m_pill));
  painter.drawText(QRect(x + kIcon_px + kGap_px, 0, width(), height()), Qt::AlignVCenter,
                   badgeWord(m_kind));
}

}  // namespace athanor
