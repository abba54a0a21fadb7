// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
/// Trains the demo and keeps a picture of each page on the way, light and dark, for the guide.

#include <QString>
#include <functional>

#include "gui/app/main_window.h"

namespace athanor {

class ScreenshotTour {
 public:
  ScreenshotTour(MainWindow* window, const QString& folder);

  /// False when a page did not come in time or a picture could not be written.
  bool run();

 private:
  bool waitFor(const std::function<bool()>& condition, int timeout_s);
  void settle();
  bool take(const QString& name);
  bool trainAndTake();
  bool talkAndTake();
  bool prepareData();

  MainWindow* m_window;
  QString m_folder;
};

}  // namespace athanor
