// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// The object that says when the theme changed; widgets that paint themselves listen to it.

#include <QObject>

namespace athanor {

class ThemeNotifier : public QObject {
  Q_OBJECT
 public:
  static ThemeNotifier& instance();

 signals:
  void changed();

 private:
  ThemeNotifier() = default;
};

}  // namespace athanor
