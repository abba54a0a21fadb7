// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The state of a run as icon and word, in an outline pill or, in tables, without it.

#include <QString>
#include <QWidget>

#include "widgets/theme.h"

namespace athanor {

enum class BadgeKind {
  running,
  paused,
  interrupted,
  finished,
  failed,
  queued,
  preparing,
  stopped,
  imported
};

QString badgeWord(BadgeKind kind);
QString badgeIconName(BadgeKind kind);
Tone badgeTone(BadgeKind kind);

class Badge : public QWidget {
  Q_OBJECT
 public:
  explicit Badge(BadgeKind kind = BadgeKind::queued, QWidget* parent = nullptr);

  BadgeKind kind() const { return m_kind; }
  void setKind(BadgeKind kind);
  /// Without the pill: icon and word alone. Default with.
  void setPill(bool pill);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  BadgeKind m_kind;
  bool m_pill = true;
};

}  // namespace athanor
