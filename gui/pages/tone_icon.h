// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// An icon that stands by itself and follows the theme.

#include <QLabel>

#include "widgets/theme.h"

namespace athanor {

class ToneIcon : public QLabel {
  Q_OBJECT
 public:
  explicit ToneIcon(int size_px, QWidget* parent = nullptr);

  /// An empty name shows nothing.
  void setIcon(const QString& name, Tone tone);

 private:
  void draw();

  int m_size_px;
  QString m_name;
  Tone m_tone = Tone::text;
};

}  // namespace athanor
